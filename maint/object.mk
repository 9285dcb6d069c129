# How a file becomes an object: COMPILER FLAGS -MMD -MP $(to_object), then $(name_object).  Object and dependencies get their names
# last, the dependencies first, so that an interrupted make never leaves an object whose headers it does not know.  The target in
# them is written here: with CCACHE_BASEDIR the compiler cache names it by a path that make does not know.
to_object = -MF $@.needs -c $< -o $@.new
name_object = sed '1s|^[^:]*:|$@:|' $@.needs > $(@:.o=.d) && rm $@.needs && mv $@.new $@
