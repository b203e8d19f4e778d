import { provesRaces } from '../support/whole-race.ts'

provesRaces(4)
