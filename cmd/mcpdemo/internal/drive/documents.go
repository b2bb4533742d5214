package drive

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

func (d *drive) addDocuments(s *tool.Server) {
	tool.Add(s, tool.Spec{Name: "list_documents", Title: "List documents", Effect: tool.Reads,
		Description: "List documents with their ids, titles and labels, without content. Filter by a text or a label; long lists come in pages."}, d.listDocuments)
	tool.Add(s, tool.Spec{Name: "get_document", Title: "Get document", Effect: tool.Reads,
		Description: "Get a document with its content in Markdown. Documents can be long: a transcript of a whole-day workshop has about 50,000 tokens. Ask only for the fields you need."}, d.getDocument)
	tool.Add(s, tool.Spec{Name: "create_document", Title: "Create document", Effect: tool.Creates,
		Description: "Create a document from a title and Markdown text and get its id. Creating a second one with the same title gives it another id."}, d.createDocument)
	tool.Add(s, tool.Spec{Name: "update_document", Title: "Update document", Effect: tool.Modifies,
		Description: "Change a document's title, replace its text, or append to it. There is no history: what is replaced is gone."}, d.updateDocument)
	tool.Add(s, tool.Spec{Name: "delete_document", Title: "Delete document", Effect: tool.Deletes,
		Description: "Delete a document for good. Fails if there is no document with that id."}, d.deleteDocument)
}

func (m *meta) document() documentInfo {
	return documentInfo{m.ID, m.Title, m.Owner, m.Labels, m.CreatedAt, m.UpdatedAt, m.Words}
}

func (d *drive) listDocuments(_ context.Context, in listInput) (listDocumentsOutput, error) {
	page, next, err := d.documents.list(in)
	out := listDocumentsOutput{Documents: []documentInfo{}, NextCursor: next}
	for _, m := range page {
		out.Documents = append(out.Documents, m.document())
	}
	return out, err
}

func (d *drive) getDocument(_ context.Context, in getDocumentInput) (documentOutput, error) {
	m, err := d.documents.meta(in.DocumentID)
	if err != nil {
		return documentOutput{}, err
	}
	wants := func(field string) bool { return len(in.Fields) == 0 || slices.Contains(in.Fields, field) }
	out := documentOutput{DocumentID: m.ID}
	if wants("title") {
		out.Title = &m.Title
	}
	if wants("owner") {
		out.Owner = &m.Owner
	}
	if wants("labels") {
		out.Labels = &m.Labels
	}
	if wants("created_at") {
		out.CreatedAt = &m.CreatedAt
	}
	if wants("updated_at") {
		out.UpdatedAt = &m.UpdatedAt
	}
	if wants("word_count") {
		out.WordCount = &m.Words
	}
	if wants("content") {
		content, err := d.documents.content(m.ID)
		if err != nil {
			return documentOutput{}, err
		}
		out.Content = &content
	}
	return out, nil
}

func (d *drive) createDocument(_ context.Context, in createDocumentInput) (documentInfo, error) {
	d.documents.mu.Lock()
	defer d.documents.mu.Unlock()
	now := d.now().UTC()
	m := meta{ID: d.documents.newID(in.Title), Title: in.Title, Owner: owner, Labels: orEmpty(in.Labels),
		CreatedAt: now, UpdatedAt: now, Words: len(strings.Fields(in.Content))}
	return m.document(), d.documents.save(m, in.Content)
}

func (d *drive) updateDocument(_ context.Context, in updateDocumentInput) (documentInfo, error) {
	if in.Title == nil && in.Content == nil {
		return documentInfo{}, errors.New("give title, content or both")
	}
	d.documents.mu.Lock()
	defer d.documents.mu.Unlock()
	m, err := d.documents.meta(in.DocumentID)
	if err != nil {
		return documentInfo{}, err
	}
	content, err := d.documents.content(m.ID)
	if err != nil {
		return documentInfo{}, err
	}
	if in.Title != nil {
		m.Title = *in.Title
	}
	switch {
	case in.Content == nil:
	case in.Mode == "append":
		content += *in.Content
	default:
		content = *in.Content
	}
	m.Words, m.UpdatedAt = len(strings.Fields(content)), d.now().UTC()
	return m.document(), d.documents.save(m, content)
}

func (d *drive) deleteDocument(_ context.Context, in deleteDocumentInput) (deleteDocumentOutput, error) {
	d.documents.mu.Lock()
	defer d.documents.mu.Unlock()
	m, err := d.documents.meta(in.DocumentID)
	if err != nil {
		return deleteDocumentOutput{}, err
	}
	return deleteDocumentOutput{m.ID, m.Title}, d.documents.remove(m.ID)
}

// orEmpty keeps a missing list from becoming null in JSON.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
