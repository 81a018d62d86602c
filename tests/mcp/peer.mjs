// What the SDK's own Streamable HTTP server does with a trivial tool, to be measured beside the door. Prints its port.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const sessions = new Map();
async function open() {
	const server = new McpServer({ name: "peer", version: "1" });
	server.registerTool("add", { description: "Adds" }, async () => ({ content: [{ type: "text", text: "42" }] }));
	const http = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true,
		onsessioninitialized: (id) => sessions.set(id, http) });
	await server.connect(http);
	return http;
}
createServer(async (req, res) => {
	let text = "";
	for await (const piece of req)
		text += piece;
	const http = sessions.get(req.headers["mcp-session-id"]) ?? await open();
	await http.handleRequest(req, res, text ? JSON.parse(text) : undefined);
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
