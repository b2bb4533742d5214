package ident_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/ident"
)

func TestNearest(t *testing.T) {
	if got := ident.Nearest("per_pages", []string{"page", "per_page", "repo"}, 1); !slices.Equal(got, []string{"per_page"}) {
		t.Errorf(`Nearest("per_pages") = %q, want ["per_page"], which has the fewest edits`, got)
	}
	if got := ident.Nearest("delete_record", []string{""}, 1); len(got) > 0 {
		t.Errorf(`Nearest("delete_record", [""]) = %q, want none`, got)
	}
	all := []string{"get_document", "list_documents", "create_document", "update_record", "get_document"}
	for _, c := range []struct {
		name string
		most int
		want []string
	}{
		{"getDocument", 1, []string{"get_document"}},
		{"get_documnet", 1, []string{"get_document"}},
		{"get_doc", 3, []string{"get_document"}},
		{"document", 2, []string{"get_document", "list_documents"}},
		{"upsert_record", 3, []string{"update_record"}},
		{"upd_rec", 3, []string{"update_record"}},
		{"ab", 3, []string{}},
		{"xyzzy", 3, []string{}},
		{"", 3, nil},
		{strings.Repeat("a", 300), 3, nil},
	} {
		if got := ident.Nearest(c.name, all, c.most); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%.20q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNearestTools(t *testing.T) {
	ids := []string{"crm__list", "my_drive__get_document", "my_drive__list", "my_drive__share"}
	for name, want := range map[string][]string{
		"getdocumnet":            {"my_drive__get_document"},
		"my_drive__get_documnet": {"my_drive__get_document"},
		"drive__get_document":    {"my_drive__get_document"},
		"crm_list":               {"crm__list"},
		"erp__list":              {"crm__list", "my_drive__list"},
		"document":               {"my_drive__get_document"},
		"xyzzy":                  {},
	} {
		if got := ident.NearestTools(name, ids, 3); !slices.Equal(got, want) {
			t.Errorf("NearestTools(%q) = %q, want %q", name, got, want)
		}
	}
}
