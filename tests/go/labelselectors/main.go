// Command labelselectors runs Kubernetes' own label selectors on labels.
//
// It reads one question a line:
//
//	{"selector": "gpu=on,zone in (a,b)", "labels": [{"gpu": "on"}, ...]}
//
// and writes one answer a line: whether each of the labels matches, or null where
// k8s.io/apimachinery/pkg/labels.Parse takes the text for no selector:
//
//	[true, ...]
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/labels"
)

type question struct {
	Selector string       `json:"selector"`
	Labels   []labels.Set `json:"labels"`
}

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "labelselectors:", err)
		os.Exit(1)
	}
}

func answer(input io.Reader, output io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReader(input))
	decoder.DisallowUnknownFields()
	buffered := bufio.NewWriter(output)
	encoder := json.NewEncoder(buffered)
	for number := 1; ; number++ {
		var asked question
		if err := decoder.Decode(&asked); errors.Is(err, io.EOF) {
			return buffered.Flush()
		} else if err != nil {
			return fmt.Errorf("question %d: %w", number, err)
		}
		if err := encoder.Encode(matches(asked)); err != nil {
			return err
		}
	}
}

func matches(asked question) []bool {
	selector, err := labels.Parse(asked.Selector)
	if err != nil {
		return nil
	}
	found := make([]bool, 0, len(asked.Labels))
	for _, set := range asked.Labels {
		found = append(found, selector.Matches(set))
	}
	return found
}
