import { cpython, testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('CPython 3.9', cpython('3.9'), 'but_paced')
