package main

// terminalName is the console that the process belongs to.
const terminalName = "CONIN$"
