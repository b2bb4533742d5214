const line = "x".repeat(4095) + "\n";
while (true) process.stdout.write(line);
