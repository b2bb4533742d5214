package drive

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

type documents struct{ *store }

func addDocuments(s *tool.Server, st *store) {
	d := documents{st}
	tool.Add(s, tool.Spec{Name: "list_documents", Title: "List documents", Effect: tool.Reads,
		Description: "List documents with their ids, titles and labels, without content. Filter by a text or a label; long lists come in pages."}, d.list)
	tool.Add(s, tool.Spec{Name: "get_document", Title: "Get document", Effect: tool.Reads,
		Description: "Get a document with its content in Markdown. Documents can be long: a transcript of a whole-day workshop has about 50,000 tokens. Ask only for the fields you need."}, d.get)
	tool.Add(s, tool.Spec{Name: "create_document", Title: "Create document", Effect: tool.Creates,
		Description: "Create a document from a title and Markdown text and get its id. Creating a second one with the same title gives it another id."}, d.create)
	tool.Add(s, tool.Spec{Name: "update_document", Title: "Update document", Effect: tool.Modifies,
		Description: "Change a document's title, replace its text, or append to it. There is no history: what is replaced is gone."}, d.update)
	tool.Add(s, tool.Spec{Name: "delete_document", Title: "Delete document", Effect: tool.Deletes,
		Description: "Delete a document for good. Fails if there is no document with that id."}, d.delete)
}

func (m *meta) document() documentInfo {
	return documentInfo{m.ID, m.Title, m.Owner, m.Labels, m.CreatedAt, m.UpdatedAt, m.Words}
}

func (d documents) list(_ context.Context, in listInput) (listDocumentsOutput, error) {
	page, next, err := d.store.list(in)
	out := listDocumentsOutput{Documents: []documentInfo{}, NextCursor: next}
	for _, m := range page {
		out.Documents = append(out.Documents, m.document())
	}
	return out, err
}

func (d documents) get(_ context.Context, in getDocumentInput) (documentOutput, error) {
	m, content, err := d.store.get(in.DocumentID)
	if err != nil {
		return documentOutput{}, err
	}
	f := in.Fields
	return documentOutput{
		DocumentID: m.ID,
		Title:      wanted(f, "title", &m.Title),
		Content:    wanted(f, "content", &content),
		Owner:      wanted(f, "owner", &m.Owner),
		Labels:     wanted(f, "labels", &m.Labels),
		CreatedAt:  wanted(f, "created_at", &m.CreatedAt),
		UpdatedAt:  wanted(f, "updated_at", &m.UpdatedAt),
		WordCount:  wanted(f, "word_count", &m.Words),
	}, nil
}

// wanted returns nil for a field that was not asked for.
func wanted[T any](fields []string, name string, value *T) *T {
	if len(fields) > 0 && !slices.Contains(fields, name) {
		return nil
	}
	return value
}

func (d documents) create(_ context.Context, in createDocumentInput) (documentInfo, error) {
	m, err := d.store.create(meta{Title: in.Title, Labels: in.Labels, Words: len(strings.Fields(in.Content))}, in.Content)
	return m.document(), err
}

func (d documents) update(_ context.Context, in updateDocumentInput) (documentInfo, error) {
	if in.Title == nil && in.Content == nil {
		return documentInfo{}, errors.New("give title, content or both")
	}
	m, err := d.store.update(in.DocumentID, func(m *meta, content *string) error {
		if in.Title != nil {
			m.Title = *in.Title
		}
		if in.Content != nil {
			if in.Mode == "append" {
				*content += *in.Content
			} else {
				*content = *in.Content
			}
		}
		m.Words = len(strings.Fields(*content))
		return nil
	})
	return m.document(), err
}

func (d documents) delete(_ context.Context, in deleteDocumentInput) (deleteDocumentOutput, error) {
	m, _, err := d.store.get(in.DocumentID)
	if err != nil {
		return deleteDocumentOutput{}, err
	}
	return deleteDocumentOutput{m.ID, m.Title},
		errors.Join(d.root.Remove(path.Join(d.folder, m.ID+".json")), d.root.Remove(path.Join(d.folder, m.ID+d.ext)))
}
