// Looks at the archive as people and attackers would, in a real browser. Prints one JSON line a check.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const { chromium } = require('playwright-core');

const cfg = JSON.parse(process.argv[2]);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
	'--disable-background-networking', '--disable-component-update', '--disable-sync',
	'--autoplay-policy=no-user-gesture-required',
	'--host-resolver-rules=MAP evil.example 127.0.0.1'];

function ok(cond, what, detail) {
	console.log(JSON.stringify({ ok: !!cond, what, detail: detail === undefined ? null : detail }));
}

function listen(handler) {
	return new Promise((done) => {
		const s = http.createServer(handler);
		s.listen(0, '127.0.0.1', () => done(s));
	});
}

// A context with everything watched that must never happen.
async function watched(browser, seen) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 },
		acceptDownloads: true });
	context.on('page', (page) => {
		page.on('dialog', (d) => { seen.dialogs.push(d.message()); d.dismiss(); });
		page.on('pageerror', (e) => seen.errors.push(String(e)));
		page.on('console', (m) => {
			if (/Content.Security.Policy|Refused to/i.test(m.text()))
				seen.policy.push(m.text());
		});
		page.on('request', (r) => seen.hosts.add(new URL(r.url()).host));
	});
	return context;
}

async function enter(page, link) {
	await page.goto(link);
	await page.waitForURL((u) => !String(u).includes('open?'));
	return page.url();
}

async function settle(page) {
	await page.evaluate(async () => {
		for (const i of document.images) {
			i.loading = 'eager';
			if (!i.complete)
				await new Promise((r) => { i.onload = i.onerror = r; });
		}
	});
}

const where = (base, verb, run, name) =>
	`${base}${verb}/${run}/` + encodeURIComponent(name).replace(/[!'()*]/g,
		(c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());

// Contrast by WCAG 2 of a text with what is painted beneath it.
const contrasts = (selectors) => {
	const parse = (c) => {
		const m = c.match(/[\d.]+/g).map(Number);
		return { rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 };
	};
	const lum = (rgb) => {
		const [r, g, b] = rgb.map((v) => {
			v /= 255;
			return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	return selectors.map((s) => {
		const e = document.querySelector(s);
		if (!e)
			return [s, 0];
		let back = e;
		while (back && parse(getComputedStyle(back).backgroundColor).a === 0)
			back = back.parentElement;
		const a = lum(parse(getComputedStyle(e).color).rgb);
		const b = lum(parse(getComputedStyle(back || document.documentElement).backgroundColor).rgb);
		return [s, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
	});
};

async function shot(page, name) {
	if (cfg.shots)
		await page.screenshot({ path: path.join(cfg.shots, `${name}.png`), fullPage: true });
}

// ---- the gallery ---------------------------------------------------------------------------------

async function gallery(page, base) {
	await settle(page);
	const got = await page.evaluate(() => ({
		title: document.title, lang: document.documentElement.lang,
		scripts: document.scripts.length, handlers: document.querySelectorAll(
			'[onclick],[onerror],[onload],[style]').length,
		headings: document.querySelectorAll('h1').length,
		images: [...document.images].map((i) => [i.alt, i.naturalWidth, getComputedStyle(i).objectFit]),
		names: [...document.querySelectorAll('.name')].map((n) => n.textContent),
		wide: document.documentElement.scrollWidth > innerWidth,
	}));
	ok(got.title === 'Archive' && got.lang === 'en' && got.headings === 1, 'title, language, one heading', got);
	ok(got.scripts === 0 && got.handlers === 0, 'no script, no handler, no inline style', got);
	const width = Object.fromEntries(got.images.map(([a, w]) => [a, w]));
	ok(width['leads.png'] === 640 && width['poster.jpg'] === 640 && width['zeta-only.webp'] === 480,
		'images are shown', width);
	ok(width['lie.png'] === 0 && width['liar.gif'] === 0, 'what lies about itself is not', width);
	ok(!('page.png' in width) && !('drawing.svg' in width) && !('lie.svg' in width),
		'an HTML file named .png and drawings are not even asked for', width);
	ok(cfg.hostile.every((h) => got.names.some((n) =>
		n === h.replace('\u202e', 'U+202E').replace('\u200b', 'U+200B'))),
	'every name is on the page as it is, odd characters by number', got.names);
	ok(!got.wide, 'nothing sticks out to the side');
	const hits = await page.evaluate(() => {
		const at = (e) => {
			e.scrollIntoView({ block: 'center' });
			const r = e.getBoundingClientRect();
			const hit = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
			return hit.closest('a,video,audio')?.tagName;
		};
		return [at(document.images[0]), at(document.querySelector('video')),
			at(document.querySelector('audio'))];
	});
	ok(String(hits) === 'A,VIDEO,AUDIO', 'a picture is a link, players are players', hits);
	await page.evaluate(() => scrollTo(0, 0));
	const box = await page.locator('img[alt="leads.png"]').boundingBox();
	await Promise.all([page.waitForURL(/view/), page.mouse.click(box.x + box.width / 2, box.y + 20)]);
	ok(page.url() === where(base, 'view', 'rchart1', 'leads.png'), 'a click opens the picture', page.url());
	await page.click('.stage a');
	ok(page.url() === where(base, 'raw', 'rchart1', 'leads.png'), 'and another shows it alone');
	ok(await page.evaluate(() => document.images[0].naturalWidth) === 640, 'in its own size');
	await page.goto(base);
	await page.click('.kinds >> text=Clips');
	ok(await page.locator('video').count() === 2 && await page.locator('img').count() === 0, 'clips only');
	await page.fill('input[name=text]', 'webm');
	await page.keyboard.press('Enter');
	await page.waitForURL(/text=webm/);
	ok(await page.locator('.card').count() === 1 && page.url().includes('kind=video'), 'found by name', page.url());
	await page.goto(base + '?expert=crm-helper');
	ok(await page.locator('select').inputValue() === 'crm-helper' &&
		await page.locator('text=render-teaser').count() === 0, 'one expert only');
}

// ---- playing -------------------------------------------------------------------------------------

async function plays(page, base) {
	for (const [run, name] of [['rclip1', 'teaser.mp4'], ['rclip1', 'teaser.webm'],
		['rclip1', 'jingle.wav'], ['rclip1', 'voice.mp3']]) {
		const answers = [];
		const note = (r) => { if (r.url().includes('/raw/')) answers.push([r.status(), r.headers()]); };
		page.on('response', note);
		await page.goto(where(base, 'view', run, name));
		const end = await page.evaluate(async () => {
			const m = document.querySelector('video,audio');
			m.muted = true;
			const played = new Promise((r) => { m.onended = () => r('ended'); m.onerror = () => r('error'); });
			await m.play().catch((e) => String(e));
			const how = await Promise.race([played, new Promise((r) => setTimeout(r, 15000, 'late'))]);
			return { how, at: m.currentTime, length: m.duration, error: m.error && m.error.message };
		});
		page.off('response', note);
		ok(end.how === 'ended' && end.at > 0.3, `${name} plays to its end`, end);
		ok(answers.length > 0 && answers.every(([s, h]) => s === 200 && !h['content-range'] &&
			h['x-content-type-options'] === 'nosniff'), `${name} was fetched whole`, answers);
	}
}

// ---- downloading ---------------------------------------------------------------------------------

// Chromium takes only so many downloads in so many seconds: one that it leaves out is asked for again.
async function download(page, act) {
	for (let tries = 1;; tries++) {
		const [d] = await Promise.all([
			page.waitForEvent('download', { timeout: 3000 }).catch((e) => { if (tries === 10) throw e; }), act()]);
		if (d) {
			const file = await d.path();
			return { name: d.suggestedFilename(), bytes: fs.readFileSync(file) };
		}
	}
}

async function downloads(page, base) {
	await page.goto(where(base, 'view', 'rchart1', 'leads.csv'));
	const csv = await download(page, () => page.click('.get'));
	ok(csv.name === 'leads.csv' && String(csv.bytes).startsWith('month,leads'), 'a table downloads', csv.name);
	for (const name of ['drawing.svg', 'page.png', 'lie.svg', 'lie.png', 'page.html', ...cfg.hostile]) {
		await page.goto(where(base, 'view', 'revil1', name));
		const before = await page.title();
		const d = await download(page, () => page.click('.get'));
		ok(d.bytes.length > 10 && !/[/\\\u202e\u200b]/.test(d.name) && await page.title() === before &&
			!before.startsWith('PWNED'), `${name.slice(0, 40)} downloads, as ${d.name.slice(0, 40)}`);
	}
	for (const name of ['drawing.svg', 'page.png', 'lie.svg', 'lie.png', 'page.html']) {
		const r = await page.goto(where(base, 'raw', 'revil1', name));
		ok(r.status() === 415 && await page.title() === 'Not shown', `${name} is not opened by its address`);
		const d = await download(page, () => page.goto(where(base, 'get', 'revil1', name)).catch(() => 0));
		ok(d.name === name && await page.title() === 'Not shown', `${name} is only downloaded by the other`);
	}
}

// ---- by keyboard ---------------------------------------------------------------------------------

const focus = (page) => page.evaluate(() => {
	const e = document.activeElement;
	const s = getComputedStyle(e), after = getComputedStyle(e, '::after');
	return { tag: e.tagName, text: e.textContent, href: e.href, top: e.getBoundingClientRect().top,
		ring: s.outlineStyle !== 'none' || after.outlineStyle !== 'none' };
});

async function tabTo(page, wanted, most = 60) {
	const rings = [];
	for (let i = 0; i < most; i++) {
		await page.keyboard.press('Tab');
		const f = await focus(page);
		if (['A', 'BUTTON', 'INPUT', 'SELECT'].includes(f.tag))
			rings.push(f.ring);
		if (wanted(f))
			return { ...f, rings };
	}
	return { tag: null, rings };
}

async function keyboard(page, base) {
	await page.goto(base);
	await page.keyboard.press('Tab');
	let f = await focus(page);
	ok(f.text === 'Skip to the content' && f.top >= 0, 'Tab first shows the way past the top', f);
	await page.keyboard.press('Enter');
	f = await tabTo(page, (x) => x.tag === 'A', 1);
	ok(f.text === 'chart-leads', 'and it leads there', f);
	f = await tabTo(page, (x) => x.text === 'leads.png');
	ok(f.tag === 'A' && f.rings.every(Boolean), 'Tab reaches the first picture, its focus seen on the way', f);
	await page.keyboard.press('Enter');
	await page.waitForURL(/view/);
	ok(page.url() === where(base, 'view', 'rchart1', 'leads.png'), 'Enter opens it');
	f = await tabTo(page, (x) => x.text === 'Download');
	const d = await download(page, () => page.keyboard.press('Enter'));
	ok(d.name === 'leads.png', 'Tab and Enter download it', d.name);
	const cdp = await page.context().newCDPSession(page);
	for (const [key, want] of [['n', 'view/rchart1/pipeline.png'], ['n', 'view/rchart1/leads.csv'],
		['p', 'view/rchart1/pipeline.png'], ['r', 'run/rchart1'], ['g', '']]) {
		// Playwright's own keyboard leaves out the text that access keys go by.
		await cdp.send('Input.dispatchKeyEvent', { type: 'keyDown', modifiers: 1, key,
			code: `Key${key.toUpperCase()}`, text: key, unmodifiedText: key,
			windowsVirtualKeyCode: key.toUpperCase().charCodeAt(0) });
		const there = await page.waitForURL(base + want, { timeout: 10000 }).then(() => true, () => false);
		ok(there, `access key ${key}: ${want || 'the gallery'}`, page.url());
	}
	const lost = await page.evaluate(() => [...document.querySelectorAll('a,button,input,select,video,audio')]
		.filter((e) => e.tabIndex < 0 && e.type !== 'hidden').map((e) => e.outerHTML));
	ok(lost.length === 0, 'nothing is out of reach of the keyboard', lost);
}

// ---- light, dark, small --------------------------------------------------------------------------

async function looks(page, base) {
	const backs = {};
	for (const scheme of ['light', 'dark']) {
		await page.emulateMedia({ colorScheme: scheme });
		await page.goto(base);
		await settle(page);
		backs[scheme] = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
		const gallery = await page.evaluate(contrasts, ['.brand', '.kinds a', '.kinds a[aria-current]',
			'.totals', '.day', '.run h3 a', '.about', '.flag', '.name a', '.facts', '.ending', '.odd',
			'.search label', '.search input', 'footer', 'kbd']);
		await shot(page, `gallery-${scheme}`);
		await page.goto(where(base, 'view', 'rchart1', 'leads.csv'));
		const one = await page.evaluate(contrasts, ['.up', '.get', '.near a', '.near .place', 'dt', 'dd', '.sum',
			'.stage p', 'h1']);
		const faint = [...gallery, ...one].filter(([, c]) => c < 4.5);
		ok(faint.length === 0, `${scheme}: every text stands out by 4.5 to 1`, faint);
		await page.goto(where(base, 'view', 'rchart1', 'leads.png'));
		await shot(page, `view-${scheme}`);
	}
	const sum = (c) => c.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b);
	ok(sum(backs.light) > 600 && sum(backs.dark) < 150, 'paper by day, lamp light by night', backs);
	for (const width of [320, 390, 768, 2200]) {
		await page.setViewportSize({ width, height: 800 });
		const wide = [];
		for (const at of ['', 'run/revil1', 'view/rchart1/leads.png', 'view/revil1/' + encodeURIComponent(
			cfg.hostile.find((h) => h.length > 150))]) {
			await page.goto(base + at);
			await settle(page);
			if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth))
				wide.push(at);
		}
		if (width === 390)
			await shot(page, 'phone');
		ok(wide.length === 0, `${width} pixels wide: nothing sticks out`, wide);
	}
	await page.setViewportSize({ width: 1280, height: 900 });
	await page.emulateMedia({ colorScheme: 'light' });
}

// ---- other sites ---------------------------------------------------------------------------------

async function attacks(context, base) {
	const cookies = [];
	const picture = where(base, 'raw', 'rchart1', 'leads.png');
	const evil = await listen((q, r) => {
		if (q.headers.cookie)
			cookies.push(q.headers.cookie);
		r.setHeader('Content-Type', 'text/html');
		r.end(`<!doctype html><title>evil</title><img id=i src="${picture}"><iframe id=f src="${base}"></iframe>` +
			`<a id=a href="${base}">x</a><form id=p method=post action="${base}"></form>`);
	});
	const { port } = evil.address();
	const page = await context.newPage();
	for (const host of [`127.0.0.1:${port}`, `evil.example:${port}`]) {
		await page.goto(`http://${host}/`);
		await page.waitForLoadState('load');
		const got = await page.evaluate(async ({ b, p }) => ({
			picture: document.getElementById('i').naturalWidth,
			text: await fetch(b, { credentials: 'include' }).then((r) => r.text(), () => 'blocked'),
			blind: await fetch(p, { credentials: 'include', mode: 'no-cors' }).then((r) => r.type, () => 'blocked'),
			frame: (() => { try { return document.getElementById('f').contentDocument?.title || 'blocked'; }
				catch { return 'blocked'; } })(),
		}), { b: base, p: picture });
		ok(got.picture === 0 && got.text === 'blocked' && got.frame === 'blocked',
			`a page of ${host.startsWith('evil') ? 'another site' : 'another port'} sees nothing`, got);
		const inside = await Promise.all(page.frames().slice(1).map((x) => x.content().catch(() => '')));
		ok(!inside.join('').includes('leads'), 'not in a frame either');
		const [r] = await Promise.all([page.waitForNavigation(), page.click('#a')]);
		ok(r.status() === 403 && !(await page.content()).includes('leads'), 'its link is refused', r.status());
		await page.goto(`http://${host}/`);
		const [post] = await Promise.all([page.waitForNavigation(), page.evaluate(() =>
			document.getElementById('p').submit())]);
		ok(post.status() === 403, 'so is its form', post.status());
	}
	await page.goto(`http://127.0.0.1:${port}/`);
	ok(cookies.length === 0, 'the cookie goes to no other port', cookies);
	const rebound = await page.goto(base.replace('127.0.0.1', 'evil.example'));
	ok(rebound.status() === 403 && !(await page.content()).includes('leads'), 'a name turned to us is refused');
	const control = await page.goto(base);
	ok(control.status() === 200, 'control: typed in by its user, the gallery opens');
	await page.close();
	evil.close();
}

// ---- a buyer -------------------------------------------------------------------------------------

async function buyer(browser, seen) {
	const context = await watched(browser, seen);
	const page = await context.newPage();
	const base = await enter(page, cfg.buyer);
	const text = await page.evaluate(() => document.body.innerText);
	ok(text.includes('for acme') && text.includes('leads.png'), 'a buyer sees what is theirs');
	ok(!/zeta|heat\.png|half-made|owner only/.test(text), 'and nothing else');
	await page.goto(where(base, 'view', 'rchart1', 'leads.png'));
	await settle(page);
	await context.close();
}

(async () => {
	const seen = { dialogs: [], errors: [], policy: [], hosts: new Set() };
	const browser = await chromium.launch({ executablePath: cfg.chromium, args: FLAGS });
	const context = await watched(browser, seen);
	const page = await context.newPage();
	const base = await enter(page, cfg.owner);
	ok(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/.test(base), 'the link leads to the gallery', base);
	const [cookie] = await context.cookies();
	ok(cookie.httpOnly && cookie.sameSite === 'Strict' && cookie.expires === -1, 'with a strict cookie', cookie);
	const other = await browser.newContext();
	const stranger = await other.newPage();
	const again = await stranger.goto(cfg.owner);
	ok(again.status() === 403 && (await stranger.content()).includes('has been used'), 'and only once');
	ok((await stranger.goto(base)).status() === 403, 'another browser stays out');
	await other.close();
	await gallery(page, base);
	await plays(page, base);
	await downloads(page, base);
	await keyboard(page, base);
	await looks(page, base);
	ok(seen.policy.length === 0, 'nothing on any page is against its own policy', seen.policy);
	ok(seen.hosts.size === 1, 'no page asked anyone else for anything', [...seen.hosts]);
	await attacks(context, base);
	await buyer(browser, seen);
	ok(seen.dialogs.length === 0 && seen.errors.length === 0, 'no script ever ran', seen);
	await browser.close();
})().catch((e) => {
	ok(false, 'died', String(e.stack || e));
	process.exit(1);
});
