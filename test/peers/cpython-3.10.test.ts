import { cpython, testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('CPython 3.10', cpython('3.10'), 'but_processes')
