console.log("running");
let keep: unknown = null;
while (true) keep = { keep, more: [{}] };
