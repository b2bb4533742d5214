class A { constructor() { this.x = 1; this.y = "two"; } }
class B extends A { #p = 1; get z() { return 3; } static s = 1; }
const circ = { name: "c", list: [] }; circ.self = circ; circ.list.push(circ);
const values = [
  1, -0, 1.5, NaN, 10n, "str", "it's", 'say "hi"', `it's "both"`, true, null, undefined, Symbol("s"),
  {}, [], { a: 1, b: "x", c: null, d: undefined, "e-f": 1, 1: 2 }, [1, 2, 3], ["a", "b"], [[1, [2, [3, [4, [5]]]]]],
  { a: { b: { c: { d: {} } } } }, { a: { b: { c: {} } } }, { a: [1, { b: 2 }] },
  [1, , 3], [, ,], new Array(5), Object.assign([1, 2], { extra: true }),
  new Map([["a", 1], ["b", { c: 2 }]]), new Set([1, "x", { y: 1 }]), new Map(), new Set(), new WeakMap(),
  new Date(0), new Date(NaN), /re/gi, () => {}, function named() {}, class {}, A, B, async () => {}, function* gen() {}, async function af() {},
  new A(), new B(), Object.create(null), Object.assign(Object.create(null), { a: 1 }), new (class {})(), new (class Foo {})(),
  Promise.resolve(5), new Promise(() => {}), new Uint8Array([1, 2, 3]), new Float64Array(2), new ArrayBuffer(4), Buffer.from("hello"),
  new Number(3), new String("abc"), new Boolean(false), Object(1n), Object(Symbol("q")),
  circ, { get a() { return 1; }, set a(v) {}, get b() { return 1; }, set c(v) {} }, { [Symbol("k")]: 1, [Symbol.iterator]: 2 },
  Array.from({ length: 120 }, (_, i) => i), Array.from({ length: 30 }, (_, i) => "item" + i), Array.from({ length: 7 }, (_, i) => i * 1000),
  Array.from({ length: 10 }, (_, i) => ({ id: i, name: "n" + i })), Array.from({ length: 27 }, (_, i) => i % 2 ? "short" : "a longer string value"),
  { long1: "aaaaaaaaaaaaaaaaaaaaaaaaa", long2: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", long3: "cccccccccccccccccccccc" },
  { a: "x".repeat(100) }, ["x".repeat(70), "y"], { text: "line one\nline two\nline three, which is a good deal longer than the others are, really\nend" },
  { id: 1, tags: ["a", "b", "c"], owner: { name: "Ann", mail: "ann@example.com", address: { city: "X", geo: { lat: 1, lon: 2 } } }, active: true },
  [{ id: 1, name: "one", when: new Date(0) }, { id: 2, name: "two", when: new Date(86400000) }],
  new Map([[{ k: 1 }, new Map([["in", new Set([1, 2])]])]]), [undefined, null], [[], {}], { f() {}, g: () => {}, h: class X {} },
  "multi\nline", ["multi\nline\ttab"], "\u0000\u001b[31m", ["\u0000\u001b"], ["\ud800"], globalThis === global,
  Object.assign(() => {}, { a: 1 }), Object.assign(function f() {}, { b: { c: 1 } }), [1.5, -2.25, 3], [1n, 2n], JSON.parse('{"__proto__": 1}'),
  [true, false, true, false, true, false, true], ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", "hh"], new Array(3).fill([1, 2]), { a: new Array(200).fill(0) },
  [["a", 1], ["b", 2]], Object.entries({ x: 1, y: [2] }), Math, JSON, new URLSearchParams("a=1").toString(), [function () {}, () => {}], Object.freeze({ a: 1 }),
];
for (const v of values) console.log(v);
for (const v of values) console.log([v]);
console.log("a", 1, { b: 2 }, "c"); console.log("%s is %d years and %i, %f, %j %O %%, %c!", "Bob", 42.5, 42.9, "1.5", { a: 1 }, { b: 2 }, "css", "extra", { more: 1 });
console.log("%s", { a: { b: 1 } }, "%s"); console.log("100%", 5); console.log("%d", "0x10"); console.log("%s %s", "only one"); console.log(); console.log("");
console.log("%s", null, undefined, 5n, Symbol("x")); console.log("%i", 5.9, "%x"); console.log("%s", new Date(0)); console.log("%s", [1, [2, [3]]]); console.log("%s", class Q {}, () => 1);
console.group("G"); console.log("in\nside"); console.group(); console.log({ a: 1 }); console.groupEnd(); console.groupEnd(); console.log("out");
console.table([{ a: 1, b: "x" }, { a: 2, c: true }]); console.table([1, "two"]); console.table({ r1: { v: 1 }, r2: { v: 2 } }); console.table([[1, 2], [3, 4]]);
console.count(); console.count("x"); console.count(); console.countReset(); console.count(); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
