// The page's own program: draws the declared figures from the columns of data, and turns their switches.
// Text of users is only ever set as textContent.
"use strict";
(() => {
  const $ = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };
  let page = JSON.parse($("#payload").textContent);
  const views = new Map();
  const state = { hidden: [], picked: null, single: null };

  // Columns to rows: a block's rows are the product of its axes, the last running fastest.
  function rows(blocks) {
    const out = [];
    for (const block of blocks) {
      const axes = block.over.map(([names, at]) => ({ names, values: page.data.axes[at] }));
      const n = axes.length ? axes.reduce((count, axis) => count * axis.values.length, 1) : block.columns[0][1].length;
      for (let i = 0; i < n; i++) {
        const row = { ...block.fixed };
        let rest = i;
        for (let a = axes.length - 1; a >= 0; a--) {
          const { names, values } = axes[a];
          const value = values[rest % values.length];
          rest = Math.floor(rest / values.length);
          if (names.length === 1) row[names[0]] = value;
          else names.forEach((name, k) => { row[name] = value[k]; });
        }
        for (const [name, values] of block.columns) row[name] = values[i];
        out.push(row);
      }
    }
    return out;
  }
  function blocksOf(figure) {
    const blocks = page.data.tables[figure.table] ?? [];
    if (!figure.single) return blocks;
    const chosen = blocks.filter((block) => block.fixed.run === state.single);
    return chosen.length ? chosen : blocks.slice(0, 1);
  }
  const figureOf = (id) => page.figures.find((figure) => figure.id === id);

  // One tip for explanations and for marks; it holds text only.
  const tip = $("#tip");
  function place(x, y) {
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8));
    const top = y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18;
    tip.style.left = `${left}px`;
    tip.style.top = `${top}px`;
  }
  const hideTip = () => { tip.hidden = true; };
  function explain(button) {
    const told = document.getElementById(button.dataset.tip);
    if (!told) return;
    tip.replaceChildren();
    element("b", $("dt", told).textContent, tip);
    tip.append($("dd", told).textContent);
    const box = button.getBoundingClientRect();
    place(box.left, box.bottom - 12);
  }
  function markTip(_, event, __, value) {
    if (value === null || value === undefined || value === "") return hideTip();
    tip.replaceChildren();
    const list = element("dl", undefined, tip);
    for (const [key, said] of Object.entries(value)) {
      if (said === "" || said === "undefined" || said === "null") continue;
      element("dt", key, list);
      element("dd", String(said), list);
    }
    place(event.clientX, event.clientY);
  }

  // Drawing: what is near the screen first, the rest when there is time, so that printing finds all of it.
  const queue = [];
  async function draw(holder) {
    const figure = figureOf(holder.dataset.figure);
    if (!figure || views.has(figure.id)) return;
    views.set(figure.id, null);
    const data = rows(blocksOf(figure));
    const canvas = element("div", undefined, holder); // its marks are for the eye; the holder has the figure's name
    canvas.setAttribute("aria-hidden", "true");
    const { view } = await vegaEmbed(canvas, { ...figure.spec, datasets: { ...figure.spec.datasets, [figure.table]: data } }, {
      actions: false, config: page.config, renderer: data.length > 1500 ? "canvas" : "svg", tooltip: markTip,
      mode: "vega-lite",
    });
    views.set(figure.id, view);
    turn(view);
    await view.runAsync();
    await renew(figure.id); // what was switched while it was being made
    holder.dataset.drawn = "yes";
    watcher.observe(holder);
  }
  async function drawAll() {
    while (queue.length) {
      await draw(queue.shift());
      await new Promise((resume) => setTimeout(resume, 0));
    }
    document.documentElement.dataset.drawn = "all";
  }
  function start() {
    delete document.documentElement.dataset.drawn;
    queue.length = 0;
    queue.push(...all("[data-figure]"));
    setTimeout(drawAll, 0);
  }
  function has(view, name) {
    try { view.signal(name); return true; } catch { return false; }
  }
  function turn(view) {
    for (const name of ["hidden", "picked"]) if (has(view, name)) view.signal(name, state[name]);
  }
  const turnAll = () => follow(page.figures, false);
  function refill(only = () => true) {
    const figures = page.figures.filter(only);
    for (const figure of figures) {
      const table = $(`[data-table="${figure.id}"]`);
      if (table && table.open) fill(table);
    }
    follow(figures, true);
  }

  // A switch shows first where the reader looks; the other figures follow one at a time, so that none holds up the
  // next act. `behind` are those that still have to: whether with new data, or with turned switches alone.
  const near = new Set();
  const behind = new Map();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const id = target.dataset.figure;
      if (isIntersecting) near.add(id); else near.delete(id);
      if (isIntersecting) renew(id);
    }
  }, { rootMargin: "100px" });
  async function renew(id) {
    const view = views.get(id);
    if (!view || !behind.has(id)) return;
    const figure = figureOf(id);
    if (behind.get(id)) view.data(figure.table, rows(blocksOf(figure)));
    behind.delete(id);
    delete $(`[data-figure="${id}"]`).dataset.behind;
    turn(view);
    await view.runAsync();
  }
  function follow(figures, refilled) {
    for (const { id } of figures) {
      behind.set(id, refilled || (behind.get(id) ?? false));
      $(`[data-figure="${id}"]`).dataset.behind = "yes";
    }
    for (const { id } of figures) if (near.has(id)) renew(id);
    catchUp();
  }
  let catching = false;
  async function catchUp() {
    if (catching) return;
    catching = true;
    for (let id; (id = [...behind.keys()].find((key) => views.get(key))) !== undefined;) {
      await new Promise((resume) => setTimeout(resume, 30)); // an act in between goes first
      await renew(id);
    }
    catching = false;
  }
  const catchUpAtOnce = () => { for (const id of [...behind.keys()]) renew(id); }; // nothing in it waits

  // Switches.
  function readSwitches() {
    state.hidden = all('[name="shown"]').filter((box) => !box.checked).map((box) => box.value);
    const single = $("#single");
    state.single = single ? single.value : null;
    for (const said of all("[data-single]")) {
      const drawn = blocksOf(figureOf(said.dataset.single))[0].fixed.run;
      said.textContent = drawn === state.single ? `· ${drawn}` : `· ${drawn}, as ${state.single} has none`;
    }
  }
  function pick(text) {
    const names = new Set();
    for (const block of page.data.tables.clients) for (const name of page.data.axes[block.over[0][1]]) names.add(name);
    const wanted = text.trim().toLowerCase();
    const found = wanted ? [...names].filter((name) => name.toLowerCase().includes(wanted)) : [];
    const exact = found.find((name) => name.toLowerCase() === wanted);
    state.picked = exact ?? found[0] ?? null;
    const more = found.length > 1 && !exact ? `, first of ${found.length}` : "";
    $("#found").textContent = !wanted ? "" : state.picked === null ? "no such client" : `${state.picked}${more}`;
    turnAll();
  }

  // The numbers under a figure, as a table of text.
  function fill(details) {
    const figure = figureOf(details.dataset.table);
    const data = rows(blocksOf(figure));
    for (const old of all(".scroll, p", details)) old.remove();
    const box = element("div", undefined, details);
    box.className = "scroll";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Data");
    const table = element("table", undefined, box);
    const heads = Object.keys(data[0] ?? {});
    const head = element("tr", undefined, element("thead", undefined, table));
    for (const name of heads) element("th", name, head).scope = "col";
    const body = element("tbody", undefined, table);
    for (const row of data.slice(0, 200)) {
      const line = element("tr", undefined, body);
      for (const name of heads) element("td", row[name] ?? "–", line);
    }
    if (data.length > 200) element("p", `The first 200 of ${data.length.toLocaleString("en")} rows.`, details).className = "about";
  }
  async function save(id) {
    const view = views.get(id);
    if (!view) return;
    await renew(id);
    const link = element("a");
    link.href = await view.toImageURL("svg");
    link.download = `evenkeel-${id}.svg`;
    link.click();
  }

  // Light and dark; the reader's choice is kept where the browser lets us.
  const themeButton = $("#theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
  const showTheme = () => themeButton.setAttribute("aria-pressed", String(isDark()));
  function remember(theme) { try { localStorage.setItem("evenkeel-theme", theme); } catch { /* a private window */ } }
  function remembered() { try { return localStorage.getItem("evenkeel-theme"); } catch { return null; } }
  if (["dark", "light"].includes(remembered())) document.documentElement.dataset.theme = remembered();
  showTheme();
  prefersDark.addEventListener("change", showTheme);
  themeButton.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    showTheme();
  });

  // Events reach us through the document, so that fresh content of a live page needs nothing more.
  const on = (kind, query, act, capture = false) =>
    document.addEventListener(kind, (event) => { const hit = event.target.closest?.(query); if (hit) act(hit, event); }, capture);
  on("change", '[name="shown"]', () => { readSwitches(); turnAll(); });
  on("change", "#single", () => { readSwitches(); refill((figure) => figure.single); });
  on("input", "#find", (box) => pick(box.value));
  on("submit", "form", (_, event) => event.preventDefault());
  on("toggle", "[data-table]", (details) => { if (details.open) fill(details); }, true);
  on("click", "[data-save]", (button) => save(button.dataset.save));
  on("mouseover", ".why", explain);
  on("focusin", ".why", explain);
  on("click", ".why", explain);
  on("mouseout", ".why", hideTip);
  on("focusout", ".why", hideTip);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
  document.addEventListener("scroll", hideTip, { passive: true });

  // On paper nobody can open anything: what was run is printed, long specs only where the reader opened them.
  let opened = [];
  addEventListener("beforeprint", () => {
    catchUpAtOnce();
    opened = all("details.run:not([open])");
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; });

  // A live page asks for what is new, keeps what is old while nobody answers, and never reloads.
  async function ask(stamp) {
    const live = $("#live");
    try {
      const answer = await fetch(`live?since=${encodeURIComponent(stamp)}`, { cache: "no-store" });
      if (answer.ok && answer.status !== 204) {
        const told = await answer.json();
        stamp = told.stamp;
        show(told);
      }
      live.textContent = answer.headers.get("x-state") ?? "live";
    } catch { live.textContent = "nobody answers; trying again"; }
    setTimeout(() => ask(stamp), 2000);
  }
  function show(told) {
    const open = all("details[open]").map((d) => d.dataset.table).filter(Boolean);
    const same = told.payload.figures.map((f) => JSON.stringify(f)).join() === page.figures.map((f) => JSON.stringify(f)).join();
    page = told.payload;
    const fresh = element("div");
    fresh.innerHTML = told.inside; // escaped by the server's templates
    if (same) {
      for (const now of all("[data-live]")) {
        const then = $(`[data-live="${now.dataset.live}"]`, fresh);
        if (!then || now.contains(document.activeElement)) continue; // what is being read with the keyboard stays
        const opened = all("details", now).map((details) => details.open);
        all("details", then).forEach((details, i) => { details.open = opened[i] ?? details.open; });
        if (!now.isEqualNode(then)) now.replaceWith(then);
      }
      refill();
      return;
    }
    for (const view of views.values()) if (view) view.finalize();
    watcher.disconnect();
    for (const held of [views, near, behind]) held.clear();
    $("main").replaceChildren(...fresh.childNodes);
    for (const id of open) { const details = $(`[data-table="${id}"]`); if (details) details.open = true; }
    readSwitches();
    start();
  }

  readSwitches();
  start();
  if (page.live) ask("");
})();
