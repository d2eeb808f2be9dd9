package protocol

import (
	"bytes"
	"encoding/xml"
	"io"
	"unicode/utf8"
)

// DocumentFault says where an XML document is invalid, and why. The zero value says neither.
type DocumentFault struct {
	Line, Position int // from 1
	Reason         string
}

// Element is an element of an XML document.
type Element struct {
	Name     string
	Text     string
	Children []*Element

	// End is the position of the name in the end tag. Next is the position of the name in the tag
	// after the end tag.
	End, Next Position
}

// Position is a place in a document. Both numbers start with 1.
type Position struct{ Line, Column int }

// Fault returns an error about the position.
func (p Position) Fault(reason string) *DocumentFault {
	return &DocumentFault{p.Line, p.Column, reason}
}

// ParseDocument parses a body that is one XML document and returns its root.
func ParseDocument(body []byte) (*Element, *DocumentFault) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var (
		d     = xml.NewDecoder(bytes.NewReader(body))
		top   Element
		open  = []*Element{&top}
		ended *Element // the element whose end tag was the last tag
	)
	fault := func() *DocumentFault {
		line, column := d.InputPos()
		return Position{line, column}.Fault("Error parsing Xml content")
	}
	if !utf8.Valid(body) {
		return nil, fault()
	}
	for {
		var at Position
		at.Line, at.Column = d.InputPos()
		t, err := d.Token()
		if err == io.EOF && len(top.Children) == 1 {
			return top.Children[0], nil
		}
		if err != nil {
			return nil, fault()
		}
		within := open[len(open)-1]
		switch t := t.(type) {
		case xml.CharData:
			if within == &top && len(bytes.TrimSpace(t)) > 0 {
				return nil, fault()
			}
			within.Text += string(t)
			continue
		case xml.StartElement:
			if within == &top && len(top.Children) > 0 {
				return nil, fault()
			}
			at.Column++
			e := &Element{Name: t.Name.Local}
			within.Children = append(within.Children, e)
			open = append(open, e)
			if ended != nil {
				ended.Next = at
			}
			ended = nil
		case xml.EndElement:
			at.Column += 2
			if ended != nil {
				ended.Next = at
			}
			within.End, ended = at, within
			open = open[:len(open)-1]
		}
	}
}

// Child returns the first child with a name, or nil.
func (e *Element) Child(name string) *Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// ChildText returns the text of the first child with a name, or "".
func (e *Element) ChildText(name string) string {
	if c := e.Child(name); c != nil {
		return c.Text
	}
	return ""
}
