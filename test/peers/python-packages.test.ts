import { testPeerWithPackages } from '../support/python-peer.ts'
import { venvPython } from '../support/runtimes.ts'

testPeerWithPackages(venvPython)
