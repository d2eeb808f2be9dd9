// Package moves plants bugs in what packages eventual and archive rest on, in its tests. They are apart from others because each bug is
// compiled, and a package's tests must end in ten minutes.
package moves
