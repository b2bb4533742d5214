// A certified authorization server for one test: node oidc.mjs PATH-OF-OIDC-PROVIDER RESOURCE. It prints its issuer when
// it is ready, and ends with its standard input.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [, , module, resource] = process.argv;
const { default: Provider } = await import(pathToFileURL(module));

const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [{ client_id: "introspector", token_endpoint_auth_method: "client_secret_basic", client_secret: "introspector-secret", redirect_uris: [], grant_types: [], response_types: [] }],
  scopes: ["openid", "offline_access", "tools:read"],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: 4, RefreshToken: 600, Grant: 600, Session: 600, Interaction: 600, AuthorizationCode: 60 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, asked) => {
        if (asked !== resource) throw new Error(`unknown resource ${asked}`);
        return { scope: "tools:read", audience: resource, accessTokenTTL: 4, accessTokenFormat: "opaque" };
      },
    },
  },
});
server.on("request", provider.callback());
console.log(issuer);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
