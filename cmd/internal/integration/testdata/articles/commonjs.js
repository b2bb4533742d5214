const fs = require('fs');
const { getDocument } = require('./servers/google-drive');

async function main() {
  const { title } = await getDocument({ documentId: 'abc123' });
  fs.writeFileSync('title.txt', title);
  console.log(fs.readFileSync('title.txt', 'utf8'));
}
main();
