# With CCACHE_BASEDIR the compiler cache names the target of a file of dependencies by a path that make does not know.
name_target = sed -i '1s|^[^:]*:|$@:|' $(@:.o=.d)
