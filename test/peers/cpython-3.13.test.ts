import { cpython, testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('CPython 3.13', cpython('3.13'), 'but_paced')
