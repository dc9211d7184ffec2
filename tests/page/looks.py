# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the page is asked about itself, as scripts that run in it."""

# Each text that can be seen, whose contrast with what is behind it is below 4.5 : 1 (WCAG 2, AA).
FAINT_TEXTS = """
const parse = text => {
    const found = text.match(/rgba?\\(([^)]+)\\)/);
    const [r, g, b, a = 1] = found[1].split(/[ ,\\/]+/).map(Number);
    return {r, g, b, a};
};
const over = (top, under) => {
    const mix = name => top[name] * top.a + under[name] * (1 - top.a);
    return {r: mix("r"), g: mix("g"), b: mix("b"), a: 1};
};
const light = color => {
    const part = value => {
        const share = value / 255;
        return share <= .03928 ? share / 12.92 : ((share + .055) / 1.055) ** 2.4;
    };
    return .2126 * part(color.r) + .7152 * part(color.g) + .0722 * part(color.b);
};
const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
        const bar = at.matches("g.hold") ? at.querySelector(".bar") : null;
        const style = getComputedStyle(at);
        layers.push(parse(bar ? getComputedStyle(bar).fill : style.backgroundColor));
        if (layers.at(-1).a === 1) { break; }
    }
    return layers.reduceRight((under, top) => over(top, under), {r: 255, g: 255, b: 255, a: 1});
};
const faint = [];
let seen = 0;
for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    const typed = element.matches("input[type=search], select");
    const box = element.getBoundingClientRect();
    if (!(own || typed) || !element.checkVisibility() || box.width <= 1 || element.matches("script, title, option, .unseen, .skip")) {
        continue;
    }
    const style = getComputedStyle(element);
    let color = parse(element instanceof SVGElement ? style.fill : style.color);
    const under = behind(element);
    color.a *= Number(style.opacity);
    color = over(color, under);
    const [high, low] = [light(color), light(under)].sort((a, b) => b - a);
    const ratio = (high + .05) / (low + .05);
    seen++;
    if (ratio < 4.5) { faint.push(`${element.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`); }
}
return {seen, faint};
"""

# Where the focus is, and whether somebody could see it there.
FOCUS = """
const at = document.activeElement;
const shown = at.matches("input[type=radio]") ? at.parentElement : at;
const style = getComputedStyle(shown);
return {id: at.id || at.value || at.className, tag: at.tagName,
        isVisible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2};
"""

# Things that have no name for those who can't see them, ids given twice, and what a document needs.
FAULTS = """
const faults = [];
const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
for (const id of ids) {
    if (ids.indexOf(id) !== ids.lastIndexOf(id)) { faults.push(`id ${id} is given twice`); }
}
for (const name of ["aria-labelledby", "aria-describedby", "aria-activedescendant"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
        for (const id of element.getAttribute(name).split(" ")) {
            if (!document.getElementById(id)) { faults.push(`${name} names ${id}, which is not there`); }
        }
    }
}
for (const element of document.querySelectorAll("img, svg:not(svg svg)")) {
    if (!element.closest("[aria-hidden=true]") && element.getAttribute("role") !== "img") {
        faults.push("a picture without a role");
    }
}
if (document.querySelectorAll("h1").length !== 1) { faults.push("not one h1"); }
if (!document.documentElement.lang) { faults.push("no language"); }
for (const name of ["main", "header", "[role=search]", "[role=grid]", "[role=status]", "[role=alert]"]) {
    if (!document.querySelector(name)) { faults.push(`no ${name}`); }
}
const rows = [...document.querySelectorAll("#rows .line")];
for (const row of rows) {
    const cells = [...row.children];
    if (row.getAttribute("role") !== "row" || !row.getAttribute("aria-rowindex") ||
        cells.length !== 5 || cells.some(cell => cell.getAttribute("role") !== "gridcell")) {
        faults.push("a row that is none");
    }
}
return faults;
"""

# Scrolls through the whole list, a part a frame: in how many frames was there no row to be seen?
SCROLL = """
const done = arguments[arguments.length - 1], frames = 60;
const scroller = document.querySelector("#rows");
scroller.scrollIntoView({block: "center"});
const box = scroller.getBoundingClientRect();
let frame = 0, blank = 0, most = 0;
function step() {
    const at = document.elementFromPoint(box.left + 60, box.top + box.height / 2);
    if (frame > 0 && !(at && at.closest("#rows .line"))) { blank++; }
    most = Math.max(most, document.querySelectorAll("#rows .line").length);
    if (frame++ === frames) { done({blank, most, end: scroller.scrollTop}); return; }
    scroller.scrollTop = (scroller.scrollHeight - scroller.clientHeight) * frame / frames;
    requestAnimationFrame(() => requestAnimationFrame(step));
}
scroller.scrollTop = 0;
requestAnimationFrame(step);
"""

# How long one whole drawing takes, in units of reading the same answer once.
COST = """
const done = arguments[arguments.length - 1];
const median = values => values.sort((a, b) => a - b)[values.length >> 1];
(async () => {
    const read = [], drawn = [];
    for (let at = 0; at < 7; at++) {
        let begun = performance.now();
        await (await fetch("/api/v1/nodes", {cache: "no-store"})).json();
        read.push(performance.now() - begun);
        begun = performance.now();
        showAll();
        void document.body.offsetHeight;
        drawn.push(performance.now() - begun);
    }
    done({read: median(read), drawn: median(drawn)});
})();
"""

# How often the timeline is drawn while no answer comes: until that was so often, or for so many ms.
# One more question is answered and drawn first, so that none that was asked before is on its way.
REDRAWN = """
const [enough, most, done] = arguments;
const fetch = window.fetch, show = window.showAll;
const held = [];
let asked = 0;
window.fetch = (path, options) => path.startsWith("/api/v1/nodes") && asked++ > 0 ?
    new Promise((_, fail) => held.push(fail)) : fetch(path, options);
window.showAll = () => {
    show();
    if (asked > 0) { window.showAll = show; watch(); }
};
function watch() {
    let count = 0;
    const observer = new MutationObserver(() => { if (++count === enough) { end(); } });
    const timer = setTimeout(end, most);
    observer.observe(document.querySelector("#lanes"), {childList: true});
    observer.takeRecords();
    function end() {
        clearTimeout(timer);
        observer.disconnect();
        window.fetch = fetch;
        held.forEach(fail => fail(new Error("held back")));
        done(count);
    }
}
"""
