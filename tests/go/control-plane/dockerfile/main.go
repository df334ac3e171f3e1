// Command dockerfile tells what BuildKit reads in a Dockerfile, as one JSON object:
// what its linter says (the rules of `docker build --check`), the instructions of each
// stage, and the files of the context that .dockerignore leaves in.
//
// Usage: dockerfile CONTEXT, a folder with a Dockerfile and a .dockerignore.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	digest "github.com/opencontainers/go-digest"
)

type instruction struct {
	Name string `json:"name"`
	// Text is the instruction as it is written, on one line.
	Text string `json:"text"`
	// Words are those of RUN, ENTRYPOINT, CMD and HEALTHCHECK; one word where a shell
	// reads it.
	Words []string `json:"words,omitempty"`
	// Shell is whether a shell reads Words.
	Shell bool `json:"shell,omitempty"`
	// Pairs are those of ENV, LABEL and ARG.
	Pairs [][2]string `json:"pairs,omitempty"`
	// Sources, Target and From are those of COPY.
	Sources []string `json:"sources,omitempty"`
	Target  string   `json:"target,omitempty"`
	From    string   `json:"from,omitempty"`
	Chown   string   `json:"chown,omitempty"`
	// Value is that of USER, WORKDIR, EXPOSE and STOPSIGNAL.
	Value string `json:"value,omitempty"`
}

type stage struct {
	Name         string        `json:"name"`
	Base         string        `json:"base"`
	Instructions []instruction `json:"instructions"`
}

type answer struct {
	Warnings []string    `json:"warnings"`
	Args     [][2]string `json:"args"`
	Stages   []stage     `json:"stages"`
	Context  []string    `json:"context"`
}

// bare answers for every base image: one without settings of its own.
type bare struct{}

func (bare) ResolveImageConfig(
	_ context.Context, ref string, _ sourceresolver.Opt,
) (string, digest.Digest, []byte, error) {
	return ref, "", []byte(`{"os":"linux","architecture":"amd64","config":{}}`), nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dockerfile CONTEXT")
		os.Exit(2)
	}
	told, err := read(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(told)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(folder string) (*answer, error) {
	source, err := os.ReadFile(filepath.Join(folder, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.Parse(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	stages, args, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, err
	}
	told := &answer{Warnings: []string{}}
	if told.Warnings, err = warnings(source); err != nil {
		return nil, err
	}
	for _, arg := range args {
		told.Args = append(told.Args, argPairs(arg.Args)...)
	}
	for _, each := range stages {
		read := stage{Name: each.Name, Base: each.BaseName}
		for _, command := range each.Commands {
			read.Instructions = append(read.Instructions, instructionOf(command))
		}
		told.Stages = append(told.Stages, read)
	}
	told.Context, err = left(folder)
	return told, err
}

// warnings asks the linter, of all stages.
func warnings(source []byte) ([]string, error) {
	sources := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", source)
	sources.Definition = &llb.Definition{}
	results, err := dockerfile2llb.DockerfileLint(context.Background(), source,
		dockerfile2llb.ConvertOpt{MetaResolver: bare{}, SourceMap: sources})
	if err != nil {
		return nil, err
	}
	if results.Error != nil {
		return nil, fmt.Errorf("Dockerfile: %s", results.Error.Message)
	}
	told := []string{}
	for _, warning := range results.Warnings {
		line := int32(0)
		if warning.Location != nil && len(warning.Location.Ranges) > 0 {
			line = warning.Location.Ranges[0].Start.Line
		}
		told = append(told,
			fmt.Sprintf("line %d: %s: %s", line, warning.RuleName, warning.Detail))
	}
	return told, nil
}

func instructionOf(command instructions.Command) instruction {
	read := instruction{Name: strings.ToUpper(command.Name())}
	if named, ok := command.(fmt.Stringer); ok {
		read.Text = named.String()
	}
	switch known := command.(type) {
	case *instructions.RunCommand:
		read.Words, read.Shell = known.CmdLine, known.PrependShell
	case *instructions.EntrypointCommand:
		read.Words, read.Shell = known.CmdLine, known.PrependShell
	case *instructions.CmdCommand:
		read.Words, read.Shell = known.CmdLine, known.PrependShell
	case *instructions.HealthCheckCommand:
		read.Words = known.Health.Test[1:]
		read.Shell = known.Health.Test[0] == "CMD-SHELL"
	case *instructions.EnvCommand:
		read.Pairs = pairs(known.Env)
	case *instructions.LabelCommand:
		read.Pairs = pairs(known.Labels)
	case *instructions.ArgCommand:
		read.Pairs = argPairs(known.Args)
	case *instructions.CopyCommand:
		read.Sources, read.Target = known.SourcePaths, known.DestPath
		read.From, read.Chown = known.From, known.Chown
	case *instructions.UserCommand:
		read.Value = known.User
	case *instructions.WorkdirCommand:
		read.Value = known.Path
	case *instructions.StopSignalCommand:
		read.Value = known.Signal
	}
	return read
}

func pairs(known instructions.KeyValuePairs) [][2]string {
	var read [][2]string
	for _, pair := range known {
		read = append(read, [2]string{pair.Key, pair.Value})
	}
	return read
}

func argPairs(known []instructions.KeyValuePairOptional) [][2]string {
	var read [][2]string
	for _, pair := range known {
		read = append(read, [2]string{pair.Key, pair.ValueString()})
	}
	return read
}

// left lists the files that .dockerignore leaves in the context.
func left(folder string) ([]string, error) {
	file, err := os.Open(filepath.Join(folder, ".dockerignore"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		return nil, err
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, err
	}
	files := []string{}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == ".git" || name == ".venv" {
				return filepath.SkipDir
			}
			return nil
		}
		ignored, err := matcher.MatchesOrParentMatches(name)
		if err == nil && !ignored {
			files = append(files, name)
		}
		return err
	})
	return files, err
}
