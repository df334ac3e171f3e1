// Command golden writes what kube-scheduler's own types and those of admission look like on
// the wire, one file each, and how Kubernetes reads resource quantities, into the directory given.
//
// From the project's root: go -C tests/go run ./golden ../golden
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: golden DIRECTORY")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(1)
	}
}

func writeAll(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	all := messages()
	maps.Copy(all, admissions())
	for name, message := range all {
		// kube-scheduler's HTTPExtender sends exactly json.Marshal(args).
		body, err := json.Marshal(message)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), body, 0o644); err != nil {
			return err
		}
	}
	var table bytes.Buffer
	encoder := json.NewEncoder(&table)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(quantities()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, "quantities.json"), table.Bytes(), 0o644)
}
