import { testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('newest')
