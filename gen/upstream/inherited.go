package upstream

// InheritedNames lists the variables that every started server inherits, apart from those that its configuration names.
// Whoever keeps a Pool beyond the program that asked for it has to keep these for it too.
func InheritedNames() []string { return inheritedNames() }
