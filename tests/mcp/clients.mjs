// One real client against a server: KIND PROGRAM ARGS..., or KIND URL TOKEN. Prints "ok - X" and "not ok - X" lines.
// KIND: sdk (@modelcontextprotocol/sdk), legacy, auto, pin (@modelcontextprotocol/client).
const [kind, command, ...args] = process.argv.slice(2);
const old = kind === "sdk";
const { Client } = await import(old ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const remote = /^https?:/.test(command);
const { StdioClientTransport } = await import(
	old ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
const { StreamableHTTPClientTransport } = await import(
	old ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");

let failed = 0;
function ok(cond, what, detail) {
	failed += cond ? 0 : 1;
	console.log(`${cond ? "ok" : "not ok"} - ${kind}: ${what}`);
	if (!cond && detail !== undefined)
		console.log(JSON.stringify(detail)?.slice(0, 800));
}
const rejects = async (p) => { try { return { value: await p }; } catch (e) { return { error: e }; } };

const negotiation = { legacy: "legacy", auto: "auto", pin: { pin: "2026-07-28" } }[kind];
const client = new Client({ name: "test", version: "1" },
	old ? {} : { versionNegotiation: { mode: negotiation } });
const errors = [];
client.onerror = (e) => errors.push(String(e));
const transport = remote
	? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } })
	: new StdioClientTransport({ command, args, env: process.env, stderr: "pipe" });
const begun = performance.now();
await client.connect(transport);
ok(performance.now() - begun < 5000, "connects");

const modern = kind === "auto" || kind === "pin";
const version = old ? undefined : client.getNegotiatedProtocolVersion?.();
if (!old)
	ok((version === "2026-07-28") === modern, `speaks ${version}`, version);
ok(client.getServerVersion()?.name === "demo", "knows the server's name", client.getServerVersion());
ok(client.getInstructions()?.includes("A demo expert"), "and its instructions");
ok(client.getServerCapabilities()?.tools && client.getServerCapabilities()?.resources, "capabilities");

const { tools } = await client.listTools();
const names = tools.map((t) => t.name);
ok(names.includes("add") && names.includes("shout"), "lists the tools", names);
const add = tools.find((t) => t.name === "add");
ok(add.outputSchema?.properties?.sum && add.annotations?.readOnlyHint === true &&
	add.annotations?.openWorldHint === false, "with output schema and annotations", add);

// The client validates structured content against the schema itself.
let r = await client.callTool({ name: "add", arguments: { a: 2, b: 40 } });
ok(r.structuredContent.sum === 42 && JSON.parse(r.content[0].text).sum === 42, "calls one", r);
r = await client.callTool({ name: "numbers", arguments: {} });
ok(JSON.parse(r.content[0].text).length === 3 && Array.isArray(r.structuredContent) === modern,
	"a list as result", r);
r = await client.callTool({ name: "shout", arguments: { q: "x" } });
ok(r.content[0].text.startsWith("shouting"), "a script", r);
r = await client.callTool({ name: "fail", arguments: {} });
ok(r.isError === true && /^run r\w+: failed$/.test(r.content[0].text), "a failure", r);
r = await client.callTool({ name: "add", arguments: { a: 1 } });
ok(r.isError === true && r.content[0].text.includes("b"), "input that does not fit", r);
r = await rejects(client.callTool({ name: "nope", arguments: {} }));
ok(r.error?.code === -32602 && r.error.message.includes("nope"), "an unknown tool", r.error ?? r.value);

r = await client.callTool({ name: "files", arguments: {} });
const kinds = r.content.map((c) => c.type).sort().join();
ok(kinds === "audio,image,resource_link,resource_link,resource_link,resource_link,text",
	"artifacts as content and links", kinds);
const links = r.content.filter((c) => c.type === "resource_link");
const { resources } = await client.listResources();
ok(resources.length === 4 && resources.every((x) => links.some((l) => l.uri === x.uri)),
	"the same are its resources", resources);
for (const link of links) {
	const { contents } = await client.readResource({ uri: link.uri });
	const c = contents[0];
	const n = c.text !== undefined ? c.text.length : Buffer.from(c.blob, "base64").length;
	ok(n === link.size && c.mimeType === link.mimeType, `reads ${link.name}`, { n, link });
}
r = await rejects(client.readResource({ uri: "evctl://artifact/r000000000000000/a" }));
ok(r.error && [-32602, -32002].includes(r.error.code), "an unknown resource", r.error ?? r.value);
r = await client.listResourceTemplates();
ok(r.resourceTemplates.length === 0, "no templates");

const told = [];
r = await client.callTool({ name: "sleep", arguments: { s: 2.5 } }, ...(old ? [undefined] : []),
	{ onprogress: (p) => told.push(p.progress) });
ok(r.structuredContent.slept === 2.5 && told.length >= 2 && told.every((p, i) => !i || p > told[i - 1]),
	"progress", told);

const abort = new AbortController();
const long = rejects(client.callTool({ name: "sleep", arguments: { s: 20 } },
	...(old ? [undefined] : []), { signal: abort.signal, onprogress: () => abort.abort("enough") }));
const t0 = performance.now();
r = await long;
ok(r.error, "a call is cancelled");
r = await client.callTool({ name: "add", arguments: { a: 1, b: 1 } });
ok(r.structuredContent.sum === 2 && performance.now() - t0 < 8000, "and the next one runs at once",
	performance.now() - t0);

const many = await Promise.all([...Array(50).keys()].map((i) =>
	client.callTool({ name: "add", arguments: { a: i, b: 100 } })));
ok(many.every((m, i) => m.structuredContent.sum === i + 100), "50 at once, each its own");
r = await client.callTool({ name: "big", arguments: { n: 900000 } });
ok(r.structuredContent.text.length === 900000, "900 KB");
if (!modern)
	ok(await client.ping(), "ping");

const t1 = performance.now();
await client.close();
ok(performance.now() - t1 < 1900, "closes without being killed", performance.now() - t1);
ok(errors.length === 0, "no error on the way", errors);
process.exit(failed ? 1 : 0);
