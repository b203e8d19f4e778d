// A bare Node hop: bytes from one Unix socket to another and back, and nothing else. It stands where the daemon
// stands, so that a comparison against it leaves out what any daemon in Node must cost.
//
//     node hop.mjs LISTEN FORWARD
import { connect, createServer } from 'node:net'

const [, , listen, forward] = process.argv
createServer(client => {
  const server = connect(forward)
  client.on('data', data => server.write(data))
  server.on('data', data => client.write(data))
  client.on('close', () => server.destroy())
  server.on('close', () => client.destroy())
}).listen(listen, () => console.log('listening'))
