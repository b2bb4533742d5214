while (true) { console.error("x".repeat(65535)); console.log("y"); }
