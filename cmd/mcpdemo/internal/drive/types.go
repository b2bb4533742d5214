package drive

import (
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

type listInput struct {
	Query  string `json:"query,omitempty" maxlen:"200" example:"transcript" jsonschema:"Only items whose title, id or labels contain this text; case does not matter."`
	Label  string `json:"label,omitempty" maxlen:"60" jsonschema:"Only items with this label."`
	Limit  int    `json:"limit,omitempty" default:"50" min:"1" max:"200" jsonschema:"Return at most this many items."`
	Cursor string `json:"cursor,omitempty" maxlen:"200" jsonschema:"The next_cursor of the last answer, to continue it."`
}

type documentInfo struct {
	DocumentID string    `json:"document_id" jsonschema:"The document's id, for get_document."`
	Title      string    `json:"title" jsonschema:"The title."`
	Owner      string    `json:"owner" jsonschema:"Who owns the document."`
	Labels     []string  `json:"labels" jsonschema:"The labels."`
	CreatedAt  time.Time `json:"created_at" format:"date-time" jsonschema:"When it was created (RFC 3339, UTC)."`
	UpdatedAt  time.Time `json:"updated_at" format:"date-time" jsonschema:"When it was last changed (RFC 3339, UTC)."`
	WordCount  int       `json:"word_count" min:"0" jsonschema:"How many words the content has."`
}

type listDocumentsOutput struct {
	Documents  []documentInfo `json:"documents" jsonschema:"The documents, sorted by id, without their content."`
	NextCursor *string        `json:"next_cursor" jsonschema:"Pass this as cursor for the next page, or null when there is none."`
}

type getDocumentInput struct {
	DocumentID string   `json:"document_id" minlen:"1" maxlen:"100" example:"harbor-pine-discovery-transcript" jsonschema:"The document's id, as list_documents gives it."`
	Fields     []string `json:"fields,omitempty" maxitems:"10" enum:"title,content,owner,labels,created_at,updated_at,word_count" jsonschema:"Return only these fields; document_id always comes along. Absent or empty means all."`
}

type documentOutput struct {
	DocumentID string     `json:"document_id" jsonschema:"The document's id."`
	Title      *string    `json:"title,omitzero" nullable:"false" jsonschema:"The title."`
	Content    *string    `json:"content,omitzero" nullable:"false" jsonschema:"The text, in Markdown."`
	Owner      *string    `json:"owner,omitzero" nullable:"false" jsonschema:"Who owns the document."`
	Labels     *[]string  `json:"labels,omitzero" nullable:"false" jsonschema:"The labels."`
	CreatedAt  *time.Time `json:"created_at,omitzero" nullable:"false" jsonschema:"When it was created (RFC 3339, UTC)."`
	UpdatedAt  *time.Time `json:"updated_at,omitzero" nullable:"false" jsonschema:"When it was last changed (RFC 3339, UTC)."`
	WordCount  *int       `json:"word_count,omitzero" nullable:"false" jsonschema:"How many words the content has."`
}

type createDocumentInput struct {
	Title   string   `json:"title" minlen:"1" maxlen:"200" jsonschema:"The title. The id is made from it."`
	Content string   `json:"content" maxlen:"4000000" jsonschema:"The text, in Markdown."`
	Labels  []string `json:"labels,omitempty" maxitems:"20" minlen:"1" maxlen:"60" jsonschema:"Labels to find it by."`
}

type updateDocumentInput struct {
	DocumentID string  `json:"document_id" minlen:"1" maxlen:"100" jsonschema:"The document's id."`
	Title      *string `json:"title,omitempty" minlen:"1" maxlen:"200" jsonschema:"A new title; absent or null keeps it."`
	Content    *string `json:"content,omitempty" maxlen:"4000000" jsonschema:"New text; absent or null keeps it."`
	Mode       string  `json:"mode,omitempty" enum:"replace,append" default:"replace" jsonschema:"Whether content replaces the text or is added at its end."`
}

type deleteDocumentInput struct {
	DocumentID string `json:"document_id" minlen:"1" maxlen:"100" jsonschema:"The document's id."`
}

type deleteDocumentOutput struct {
	DocumentID string `json:"document_id" jsonschema:"The id of the document that was deleted."`
	Title      string `json:"title" jsonschema:"The title it had."`
}

// Column describes one column of a sheet.
type Column struct {
	Name string `json:"name" minlen:"1" maxlen:"100" jsonschema:"The heading; it is the key of the column in records."`
	Type string `json:"type" enum:"string,number,boolean,date" jsonschema:"What the cells hold. Dates are texts of the form YYYY-MM-DD. Empty cells are null."`
}

type sheetInfo struct {
	SheetID   string    `json:"sheet_id" jsonschema:"The sheet's id, for get_sheet."`
	Title     string    `json:"title" jsonschema:"The title."`
	Owner     string    `json:"owner" jsonschema:"Who owns the sheet."`
	Labels    []string  `json:"labels" jsonschema:"The labels."`
	CreatedAt time.Time `json:"created_at" format:"date-time" jsonschema:"When it was created (RFC 3339, UTC)."`
	UpdatedAt time.Time `json:"updated_at" format:"date-time" jsonschema:"When it was last changed (RFC 3339, UTC)."`
	Columns   []Column  `json:"columns" jsonschema:"The columns, in order."`
	RowCount  int       `json:"row_count" min:"0" jsonschema:"How many rows it has, without the heading."`
}

type listSheetsOutput struct {
	Sheets     []sheetInfo `json:"sheets" jsonschema:"The sheets, sorted by id, without their rows."`
	NextCursor *string     `json:"next_cursor" jsonschema:"Pass this as cursor for the next page, or null when there is none."`
}

type getSheetInput struct {
	SheetID string  `json:"sheet_id" minlen:"1" maxlen:"100" example:"orders-2026" jsonschema:"The sheet's id, as list_sheets gives it."`
	Range   *string `json:"range,omitempty" pattern:"^[A-Za-z]{1,2}[0-9]{0,7}(:[A-Za-z]{1,2}[0-9]{0,7})?$" example:"A1:F100" jsonschema:"Only these cells, in A1 notation: \"A1:F100\", or whole columns \"A:C\". Row 1 is the heading. Absent or null means the whole sheet."`
	Format  string  `json:"format,omitempty" enum:"records,values,csv" default:"records" jsonschema:"records: each row an object with the headings as keys; values: each row an array; csv: the rows as one text with a heading line."`
}

type getSheetOutput struct {
	SheetID  string                   `json:"sheet_id" jsonschema:"The sheet's id."`
	Title    string                   `json:"title" jsonschema:"The title."`
	Columns  []Column                 `json:"columns" jsonschema:"The columns returned, in order."`
	RowCount int                      `json:"row_count" min:"0" jsonschema:"How many rows are returned."`
	Records  []map[string]tool.Scalar `json:"records,omitzero" jsonschema:"The rows as objects; present for format records."`
	Values   [][]tool.Scalar          `json:"values,omitzero" jsonschema:"The rows as arrays; present for format values."`
	CSV      string                   `json:"csv,omitzero" jsonschema:"The rows as CSV; present for format csv."`
}

type createSheetInput struct {
	Title   string          `json:"title" minlen:"1" maxlen:"200" jsonschema:"The title. The id is made from it."`
	Columns []Column        `json:"columns" minitems:"1" maxitems:"200" jsonschema:"The columns; their names must differ."`
	Rows    [][]tool.Scalar `json:"rows,omitempty" maxitems:"50000" jsonschema:"The rows, each an array with one cell for each column."`
	Labels  []string        `json:"labels,omitempty" maxitems:"20" minlen:"1" maxlen:"60" jsonschema:"Labels to find it by."`
}

type appendRowsInput struct {
	SheetID string                   `json:"sheet_id" minlen:"1" maxlen:"100" jsonschema:"The sheet's id."`
	Records []map[string]tool.Scalar `json:"records" minitems:"1" maxitems:"10000" jsonschema:"The rows to add, each an object with the headings as keys; a heading left out makes an empty cell."`
}
