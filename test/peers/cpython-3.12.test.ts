import { cpython, testPeerUnder } from '../support/python-peer.ts'

testPeerUnder('CPython 3.12', cpython('3.12'), 'but_processes')
