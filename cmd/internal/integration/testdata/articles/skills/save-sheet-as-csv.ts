// In ./skills/save-sheet-as-csv.ts
import * as gdrive from './servers/google-drive';
import { promises as fs } from 'fs';
export async function saveSheetAsCsv(sheetId: string) {
  const data = await gdrive.getSheet({ sheetId });
  const csv = data.map(row => Object.values(row).join(',')).join('\n');
  await fs.writeFile(`./workspace/sheet-${sheetId}.csv`, csv);
  return `./workspace/sheet-${sheetId}.csv`;
}
