import { testPeerWithPackages } from '../support/python-peer.ts'
import { venvPython } from '../support/runtimes.ts'

testPeerWithPackages(venvPython, [
  'test_adapters_numpy',
  'test_adapters_pandas',
  'test_adapters_polars',
  'test_adapters_models',
  'test_wrapt',
])
