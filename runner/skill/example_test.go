package skill_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/skill"
)

func ExampleStore_Save() {
	temp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	store, err := skill.Open([]skill.Dir{{Path: filepath.Join(temp, "skills"), Writable: true}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	saved, err := store.Save(context.Background(), skill.Draft{
		Name:        "sumOrders",
		Description: "Adds up amounts.",
		Code:        "export function sum(amounts: number[]) { return amounts.reduce((a, b) => a + b, 0); }\n",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(saved.Name)
	fmt.Println(saved.Import(saved.Language()))
	// Output:
	// sum-orders
	// import { sum } from "./skills/sum-orders";
}
