# An MCP server of the older protocol era that waits before it answers. It lists the tools in the file $1 after $2 seconds.
sleep "$2"
while read -r line; do
  id=${line#*'"id":'} id=${id%%,*}
  case $line in
  *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"waiting","version":"1"}}}' ;;
  *'"tools/list"'*) printf %s '{"jsonrpc":"2.0","id":'$id',"result":'; cat "$1"; echo '}' ;;
  *'"id":'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"method not found"}}' ;;
  esac
done
