// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a condition that can be inverted.
type mutant struct {
	number int
	// rule is the rule that the condition decides about.
	rule string
	// from and to are the offsets of the condition in the file.
	file     string
	from, to int
	line     int
	text     string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s [%s]", m.file, m.line, m.text, cmp.Or(m.rule, "no rule"))
}

// source is a parsed package, without its tests.
type source struct {
	set   *token.FileSet
	files map[string]*ast.File
	// rules are the identifiers of rules, with the ID of each.
	rules map[string]string
}

func parse(folder string) (*source, error) {
	s := &source{set: token.NewFileSet(), files: map[string]*ast.File{}, rules: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(s.set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files[name] = file
		for _, d := range file.Decls {
			s.addRules(d)
		}
	}
	return s, nil
}

// addRules adds the variables of type rules.Rule, and the constants of type rules.ID.
func (s *source) addRules(d ast.Decl) {
	general, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range general.Specs {
		values, ok := spec.(*ast.ValueSpec)
		if !ok || len(values.Names) != len(values.Values) {
			continue
		}
		for i, name := range values.Names {
			if id := ruleID(values.Values[i], values.Type); id != "" {
				s.rules[name.Name] = id
			}
		}
	}
}

// ruleID returns the ID in a value of type rules.Rule or rules.ID, or "".
func ruleID(value, declared ast.Expr) string {
	if isOfRules(declared, "ID") {
		return literal(value)
	}
	composite, ok := value.(*ast.CompositeLit)
	if !ok || !isOfRules(composite.Type, "Rule") {
		return ""
	}
	for _, element := range composite.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok && fmt.Sprint(field.Key) == "ID" {
			return literal(field.Value)
		}
	}
	return ""
}

func isOfRules(typed ast.Expr, name string) bool {
	selector, ok := typed.(*ast.SelectorExpr)
	return ok && fmt.Sprint(selector.X) == "rules" && selector.Sel.Name == name
}

func literal(value ast.Expr) string {
	if text, ok := value.(*ast.BasicLit); ok {
		return strings.Trim(text.Value, `"`)
	}
	return ""
}

// mutants returns the conditions of all functions, in the order of the source.
func (s *source) mutants(read func(string) ([]byte, error)) ([]mutant, error) {
	var all []mutant
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		content, err := read(name)
		if err != nil {
			return nil, err
		}
		for _, d := range s.files[name].Decls {
			if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil {
				all = append(all, s.inFunction(function, name, content)...)
			}
		}
	}
	for i := range all {
		all[i].number = i + 1
	}
	return all, nil
}

func (s *source) inFunction(function *ast.FuncDecl, name string, content []byte) (found []mutant) {
	named := s.rulesIn(function.Body)
	eachCondition(function, func(condition ast.Expr, guarded ast.Node) {
		from, to := s.set.Position(condition.Pos()), s.set.Position(condition.End())
		found = append(found, mutant{
			rule: s.ruleOf(condition, guarded, named), file: name, from: from.Offset, to: to.Offset, line: from.Line,
			text: strings.Join(strings.Fields(string(content[from.Offset:to.Offset])), " "),
		})
	})
	return found
}

// eachCondition calls found for the conditions of if and switch, with what they guard, and for the
// result of a function that only returns a condition.
func eachCondition(function *ast.FuncDecl, found func(condition ast.Expr, guarded ast.Node)) {
	isCondition := returnsBool(function)
	ast.Inspect(function.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			isCondition = false
		case *ast.IfStmt:
			found(n.Cond, n.Body)
		case *ast.SwitchStmt:
			if n.Tag != nil {
				break
			}
			for _, clause := range n.Body.List {
				for _, condition := range clause.(*ast.CaseClause).List {
					found(condition, clause)
				}
			}
		case *ast.ReturnStmt:
			if isCondition && len(n.Results) == 1 {
				found(n.Results[0], n)
			}
		}
		return true
	})
}

func returnsBool(function *ast.FuncDecl) bool {
	results := function.Type.Results
	return results != nil && len(results.List) == 1 && fmt.Sprint(results.List[0].Type) == "bool"
}

// mention is the place where a function names a rule.
type mention struct {
	at token.Pos
	id string
}

func (s *source) rulesIn(node ast.Node) (named []mention) {
	ast.Inspect(node, func(n ast.Node) bool {
		if identifier, ok := n.(*ast.Ident); ok && s.rules[identifier.Name] != "" {
			named = append(named, mention{identifier.Pos(), s.rules[identifier.Name]})
		}
		return true
	})
	return named
}

// ruleOf returns the first rule in the statement that the condition guards or, without one, the next
// rule below it. In a function without rules, it is "".
func (s *source) ruleOf(condition, guarded ast.Node, named []mention) string {
	if inside := s.rulesIn(guarded); len(inside) > 0 {
		return inside[0].id
	}
	for _, m := range named {
		if m.at > condition.Pos() {
			return m.id
		}
	}
	if len(named) > 0 {
		return named[len(named)-1].id
	}
	return ""
}
