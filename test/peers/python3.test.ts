import { plainPython, testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('plain python3', plainPython())
