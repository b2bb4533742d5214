import * as fs from 'fs/promises';

// Later execution picks up where it left off
const saved = await fs.readFile('./workspace/leads.csv', 'utf-8');
console.log(saved.split('\n').length);
