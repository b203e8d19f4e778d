// The least WebSocket server: each message is read as msgpack, and written back.
import { pack, unpack } from 'msgpackr'
import { WebSocketServer } from 'ws'

const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => console.log(server.address().port))
server.on('connection', socket => socket.on('message', body => socket.send(pack(unpack(body)))))
