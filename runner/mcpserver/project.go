package mcpserver

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/search"
)

// Project is the part of a server's options that follows the files of the project. It must not be changed after it was handed over.
type Project struct {
	// Catalog and Lock describe the generated tree, for the index of its tools. Nil: there is no index.
	Catalog *catalog.Catalog
	Lock    *catalog.Lock
	// Learned holds the shapes of results of tools that declare none, by the tool's id. They are listed in ModePassthrough only.
	Learned map[string]catalog.Learned
	// Denied returns the ids of the tools of which every call of a customer is denied. They are not listed in ModePassthrough, but can
	// still be called. Nil: there are none.
	Denied func(customer string) map[string]bool
	// Finder finds tools. Nil: the tools that need it answer that there is no generated tree.
	Finder Finder
	// Task returns what a model is told to do a task in words with scripts in a language; see task.Selection.Instructions. Its errors are for the
	// client. Nil: there is no generated tree.
	Task func(ctx context.Context, text, language string) (string, error)
	// Together adds to the results of a search what the customer's runs used with the tools. Nil: nothing is added.
	Together func(ctx context.Context, customer string, found []search.Result)
	// Languages are the languages allowed for scripts. Wrappers are shown in the first one. Empty: TypeScript, Python.
	Languages []string
	// Network says what scripts may connect to if execute_code asks for the network; see runner.Network.Offer. Empty: it cannot be asked for.
	Network string
	// Packages names what scripts may import beside the standard library; see runner.OfferPackages. Empty: nothing.
	Packages string
	// Forms says that the project has forms, which fill_form fills in.
	Forms bool
	// Workflows are those that clients run as tools, except in ModeCode and ModePassthrough.
	Workflows []Workflow
	// Personal says that tokens take the place of personal data.
	Personal bool
	// Time and Memory, in bytes, are the limits of a run that sets none. Zero: 30 s and 500 MB.
	Time   time.Duration
	Memory int64
}

// Finder finds tools of the generated tree.
type Finder interface {
	// Search returns the tools that a query finds, with the given detail, and wrappers in a language.
	Search(ctx context.Context, q search.Query, detail search.Detail, language string) ([]search.Result, error)
	// Definition returns the tools of that name with their source. The name is a tool's id or its own name; it is looked up in one
	// category, or in all if category is empty. The error for an unknown name suggests the nearest one.
	Definition(ctx context.Context, name, category, language string) ([]search.Result, error)
	Categories() []Category
}

// Category is a group of tools.
type Category struct {
	Name string `json:"name"`
	// Description is one line about its tools.
	Description string   `json:"description,omitempty"`
	Servers     []string `json:"servers,omitempty"`
	Tools       int      `json:"tools"`
}
