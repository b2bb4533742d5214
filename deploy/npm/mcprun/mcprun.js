#!/usr/bin/env node
require("mcpgen/bin/mcprun.js");
