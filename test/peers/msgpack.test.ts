import { testPeerInMsgpack } from '../support/python-peer.ts'
import { venvPython } from '../support/runtimes.ts'

testPeerInMsgpack(venvPython)
