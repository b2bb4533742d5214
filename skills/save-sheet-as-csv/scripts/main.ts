/** Saves a sheet of the drive as a CSV file in the workspace. */
import { isHandle, writeFile } from "mcprun";
import { getSheet, type GetSheetOutput } from "./servers/drive/getSheet.ts";

export interface SavedSheet {
  path: string; // in the workspace
  title: string;
  columns: string[];
  rows: number; // without the line of headings
}

export async function saveSheetAsCsv(sheetId: string, options: { path?: string; range?: string } = {}): Promise<SavedSheet> {
  const answer: unknown = await getSheet({ sheet_id: sheetId, format: "csv", range: options.range ?? null });
  const sheet = (isHandle(answer) ? await answer.json() : answer) as GetSheetOutput; // a very large answer is a handle
  const path = await writeFile(options.path ?? `${sheetId}.csv`, sheet.csv ?? "");
  return { path, title: sheet.title, columns: sheet.columns.map((column) => column.name), rows: sheet.row_count };
}
