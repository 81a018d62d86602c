// Puts a stdio server behind Streamable HTTP on loopback, message by message, for a suite that
// speaks only HTTP: PROGRAM ARGS... Prints the port. One server process a session.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const sessions = new Map();

async function open() {
	const child = new StdioClientTransport({ command, args, env: process.env });
	const tokens = new Map();
	const http = new StreamableHTTPServerTransport({
		sessionIdGenerator: randomUUID,
		onsessioninitialized: (id) => sessions.set(id, http),
	});
	http.onmessage = (m) => {
		const token = m.params?._meta?.progressToken;
		if (m.id !== undefined && token !== undefined)
			tokens.set(token, m.id);
		child.send(m);
	};
	child.onmessage = (m) =>
		http.send(m, { relatedRequestId: tokens.get(m.params?.progressToken) });
	http.onclose = () => child.close();
	await child.start();
	await http.start();
	return http;
}

const server = createServer(async (req, res) => {
	let text = "";
	for await (const piece of req)
		text += piece;
	const body = text ? JSON.parse(text) : undefined;
	const http = sessions.get(req.headers["mcp-session-id"]) ?? await open();
	await http.handleRequest(req, res, body);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
