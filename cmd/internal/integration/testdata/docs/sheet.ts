import { getSheet } from "./servers/drive";
import { formatOutput, writeFile } from "mcprun";

/** Save a sheet as CSV. */
export async function saveSheetAsCsv(id: string): Promise<string> {
  const sheet = await getSheet({ sheet_id: id });
  return writeFile(`${id}.csv`, formatOutput(sheet.records ?? [], "csv"));
}
