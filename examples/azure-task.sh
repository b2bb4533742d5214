#!/bin/sh
# A task in words, with a model of Azure OpenAI: copy the lines of azure.env to .env of your project, fill them in, and start this
# in its folder: sh azure-task.sh "Calculate 5 + 3". It needs mcprun on PATH.
set -eu
task=${1:-Calculate 5 + 3}

mcprun model check # one small request: is the deployment there, and how fast?

# The script, and the tools that it may use. It is not run.
mcprun task --plan "$task"

# A model wrote the script, so it runs in a container. --trust own accepts the embedded sandbox, where there is no container.
mcprun task --trust own "$task"
