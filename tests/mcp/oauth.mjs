// A certified authorization server, and the SDK's own OAuth client going all the way to a door: DOOR-URL EXPERT SECRET PORT. Prints "ready" once
// the server listens, waits for a line on stdin, then "ok - X" and "not ok - X" lines.
import { createInterface } from "node:readline";
import Provider from "oidc-provider";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";

const [door, expert, secret, port] = process.argv.slice(2);
const issuer = `http://localhost:${port}`, callback = "http://localhost:9/callback";
let failed = 0;
function ok(cond, what, detail) {
	failed += cond ? 0 : 1;
	console.log(`${cond ? "ok" : "not ok"} - oauth: ${what}`);
	if (!cond)
		console.log(JSON.stringify(detail)?.slice(0, 1500));
}

const provider = new Provider(issuer, {
	clients: [{ client_id: "door", client_secret: secret, grant_types: [], response_types: [], redirect_uris: [],
		token_endpoint_auth_method: "client_secret_basic" },
	{ client_id: "agent", token_endpoint_auth_method: "none", grant_types: ["authorization_code"], response_types: ["code"],
		application_type: "native", redirect_uris: [callback] }],
	features: {
		introspection: { enabled: true, allowedPolicy: () => true },
		devInteractions: { enabled: true },
		resourceIndicators: { enabled: true, defaultResource: () => undefined, useGrantedResource: () => true,
			getResourceServerInfo: (ctx, resource) => ({ scope: "tools", audience: resource, accessTokenTTL: 600, accessTokenFormat: "opaque" }) },
	},
	pkce: { required: () => true },
	findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
provider.on("server_error", (ctx, e) => console.error(String(e?.stack ?? e)));
await new Promise((done) => provider.listen(Number(port), "127.0.0.1", done));
console.log("ready");
await new Promise((go) => createInterface({ input: process.stdin }).once("line", go));

// What a person does in a browser: signs in, agrees, and is sent back.
async function person(url) {
	const jar = new Map();
	let at = new URL(url), form = null;
	for (let step = 0; step < 20; step++) {
		const r = await fetch(at, { redirect: "manual", method: form ? "POST" : "GET", body: form ?? undefined,
			headers: { cookie: [...jar].map(([k, v]) => `${k}=${v}`).join("; "),
				...(form ? { "content-type": "application/x-www-form-urlencoded" } : {}) } });
		for (const c of r.headers.getSetCookie()) {
			const [pair] = c.split(";"), eq = pair.indexOf("=");
			jar.set(pair.slice(0, eq), pair.slice(eq + 1));
		}
		form = null;
		const to = r.headers.get("location");
		if (to?.startsWith(callback))
			return new URL(to).searchParams.get("code") ?? Promise.reject(new Error(to));
		if (to) {
			at = new URL(to, at);
			continue;
		}
		const html = await r.text();
		const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1], action = /action="([^"]+)"/.exec(html)?.[1];
		if (!prompt || !action)
			throw new Error(`${r.status} ${html.slice(0, 500)}`);
		at = new URL(action, at);
		form = new URLSearchParams({ prompt, ...(prompt === "login" ? { login: "ada", password: "x" } : {}) }).toString();
	}
	throw new Error("no end");
}

let verifier, tokens, asked;
const store = {
	redirectUrl: callback,
	clientMetadata: { client_name: "t", scope: "tools", redirect_uris: [callback], grant_types: ["authorization_code"], response_types: ["code"], token_endpoint_auth_method: "none" },
	clientInformation: () => ({ client_id: "agent" }),
	tokens: () => tokens,
	saveTokens: (t) => { tokens = t; },
	redirectToAuthorization: (url) => { asked = url; },
	saveCodeVerifier: (v) => { verifier = v; },
	codeVerifier: () => verifier,
};
const url = new URL(`${door}/mcp/${expert}`);
const first = new StreamableHTTPClientTransport(url, { authProvider: store });
const e = await new Client({ name: "t", version: "1" }).connect(first).then(() => null, (x) => x);
ok(e instanceof UnauthorizedError && asked?.origin === issuer, "the client is sent to the authorization server", { e: String(e), asked });
ok(asked?.searchParams.get("resource") === String(url), "and asks for this resource", String(asked));
await first.finishAuth(await person(asked));
ok(tokens?.access_token, "gets a token");
const client = new Client({ name: "t", version: "1" });
await client.connect(new StreamableHTTPClientTransport(url, { authProvider: store }));
const r = await client.callTool({ name: "add", arguments: { a: 2, b: 40 } });
ok(r.structuredContent?.sum === 42, "and calls a tool with it", r);
await client.close();
const revoked = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${tokens.access_token}x`, "content-type": "application/json" }, body: "{}" });
ok(revoked.status === 401, "control: another token does not do", revoked.status);
process.exit(failed ? 1 : 0);
