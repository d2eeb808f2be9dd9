package storagetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// grant is what a shared access signature allows. nil allows everything: the account's key.
type grant struct {
	table              string // in lower case
	permissions        string
	spk, srk, epk, erk string
}

func (g *grant) may(permission rune) bool {
	return g == nil || strings.ContainsRune(g.permissions, permission)
}

// covers tells whether a row is in the range. The service goes by the order of both keys together.
func (g *grant) covers(pk, rk string) bool {
	if g == nil {
		return true
	}
	if g.spk != "" {
		if n := compareText(pk, g.spk); n < 0 || n == 0 && compareText(rk, g.srk) < 0 {
			return false
		}
	}
	if g.epk == "" {
		return true
	}
	n := compareText(pk, g.epk)
	return n < 0 || n == 0 && (g.erk == "" || compareText(rk, g.erk) <= 0)
}

// sign is a signature with the account's key.
func (s *Service) sign(text string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (s *Service) signed(signature, text string) bool {
	return hmac.Equal([]byte(signature), []byte(s.sign(text)))
}

// authenticate tells who is asking: the holder of the key, of a token or of a signature, or nobody.
func (s *Service) authenticate(r *http.Request, header http.Header, query url.Values, table string) (*grant, *failure) {
	scheme, credential, _ := strings.Cut(header.Get("Authorization"), " ")
	switch {
	case scheme == "" && query.Has("sig"):
		if r.URL.Scheme == "http" && query.Get("spr") == "https" {
			return nil, errAuth
		}
		return s.signature(query, table)
	case scheme == "Bearer" && credential != "" && r.URL.Scheme == "https":
		return nil, nil // whose it is, is not looked at
	}
	account, signature, _ := strings.Cut(credential, ":")
	date := header.Get("x-ms-date")
	if date == "" {
		date = header.Get("Date")
	}
	if _, err := http.ParseTime(date); err != nil {
		return nil, errAuth
	}
	resource := "/" + s.account + r.URL.EscapedPath()
	if r.URL.Path == "" {
		resource += "/"
	}
	if comp := query.Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	text := date + "\n" + resource
	if scheme == "SharedKey" {
		text = strings.Join([]string{r.Method, header.Get("Content-MD5"), header.Get("Content-Type"), date, resource}, "\n")
	} else if scheme != "SharedKeyLite" {
		return nil, errAuth
	}
	if account != s.account || !s.signed(signature, text) {
		return nil, errAuth
	}
	return nil, nil
}

// signature reads a shared access signature for a table.
func (s *Service) signature(q url.Values, table string) (*grant, *failure) {
	if q.Has("ss") || q.Has("si") || q.Has("skoid") {
		return nil, errUnsupported // of the account, by a stored policy, of a user
	}
	name := strings.ToLower(q.Get("tn"))
	said := []string{q.Get("sp"), q.Get("st"), q.Get("se"), "/table/" + s.account + "/" + name, "", q.Get("sip"), q.Get("spr"), q.Get("sv"), q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk")}
	moment := func(name string) time.Time {
		t, _ := time.Parse(time.RFC3339, q.Get(name))
		return t
	}
	now := s.Now()
	if !s.signed(q.Get("sig"), strings.Join(said, "\n")) || !now.Before(moment("se")) || now.Before(moment("st")) || table != "$batch" && strings.ToLower(table) != name {
		return nil, errAuth
	}
	return &grant{name, q.Get("sp"), q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk")}, nil
}
