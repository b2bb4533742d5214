console.log("running");
while (true) {}
