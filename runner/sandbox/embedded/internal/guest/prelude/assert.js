// node:assert.
(function (host) {
  "use strict";
  const { inspect, isDeepStrictEqual } = host.load("util");
  class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) {
      super(message);
      this.name = "AssertionError";
      this.code = "ERR_ASSERTION";
      Object.assign(this, { generatedMessage: false, actual, expected, operator });
    }
  }
  const fail = (message, fallback, rest) => {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message ?? fallback, ...rest });
  };
  const check = (operator, test, words) => (actual, expected, message) => {
    if (!test(actual, expected)) fail(message, `Expected ${words}:\n\n${inspect(actual)}\n\nand\n\n${inspect(expected)}`, { actual, expected, operator });
  };
  const ok = (value, message) => { if (!value) fail(message, "The expression evaluated to a falsy value", { actual: value, expected: true, operator: "==" }); };
  const fits = (e, expected) => {
    if (expected === undefined) return true;
    if (expected instanceof RegExp) return expected.test(String(e));
    if (typeof expected === "function") return expected.prototype !== undefined && e instanceof expected ? true : Error.isPrototypeOf(expected) ? false : expected(e) === true;
    return Object.entries(expected).every(([k, v]) => (v instanceof RegExp && typeof e[k] === "string" ? v.test(e[k]) : isDeepStrictEqual(e[k], v)));
  };
  const strictEqual = check("strictEqual", Object.is, "values to be strictly equal");
  const deepStrictEqual = check("deepStrictEqual", (a, b) => isDeepStrictEqual(a, b), "values to be strictly deep-equal");
  const assert = Object.assign((value, message) => ok(value, message), {
    AssertionError, ok, strictEqual, deepStrictEqual,
    equal: check("==", (a, b) => a == b || (a !== a && b !== b), "values to be loosely equal"),
    notEqual: check("!=", (a, b) => a != b, "values not to be loosely equal"),
    notStrictEqual: check("notStrictEqual", (a, b) => !Object.is(a, b), "values not to be strictly equal"),
    deepEqual: deepStrictEqual,
    notDeepStrictEqual: check("notDeepStrictEqual", (a, b) => !isDeepStrictEqual(a, b), "values not to be strictly deep-equal"),
    match: check("match", (s, re) => re.test(s), "the input to match"),
    fail: (message) => fail(message, "Failed", { operator: "fail" }),
    throws(f, expected, message) {
      try {
        f();
      } catch (e) {
        if (typeof expected === "string" || fits(e, expected)) return;
        throw e;
      }
      fail(message, "Missing expected exception.", { operator: "throws" });
    },
    async rejects(p, expected, message) {
      try {
        await (typeof p === "function" ? p() : p);
      } catch (e) {
        if (typeof expected === "string" || fits(e, expected)) return;
        throw e;
      }
      fail(message, "Missing expected rejection.", { operator: "rejects" });
    },
  });
  assert.strict = assert;
  return assert;
})
