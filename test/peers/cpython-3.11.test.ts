import { cpython, testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('CPython 3.11', cpython('3.11'), 'but_processes')
