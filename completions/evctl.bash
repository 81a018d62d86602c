# bash completion for evctl and all its programs. Everything comes from `PROGRAM --complete`.
_evctl() {
	local IFS=$'\n' cur line words cword
	# Words are split anew, so that a name with ':' or '=' in it stays whole.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n := -c cur -w words -i cword
	else
		_evctl_words
	fi
	cur=${words[cword]}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:file) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$cur")) ;;
		:dir) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$cur")) ;;
		*) COMPREPLY+=("$(printf '%q' "${line%%$'\t'*}")") ;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1:cword}" 2>/dev/null)
	# Readline replaces only what follows the last ':' or '=', where those break words.
	local i cut=${cur%"${cur##*[:=]}"}
	if [[ $cur == *[:=]* && $COMP_WORDBREAKS == *:* ]]; then
		for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$cut"}; done
	fi
}

# The command line up to the cursor as whole words, where bash-completion is not loaded.
_evctl_words() {
	local line=${COMP_LINE:0:COMP_POINT} IFS=$' \t\n'
	read -r -a words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cword=$((${#words[@]} - 1))
}

complete -F _evctl evctl evctl-apply evctl-artifact evctl-bind evctl-conn evctl-cred evctl-doctor \
	evctl-expert evctl-host evctl-log evctl-mcp evctl-run evctl-session evctl-state evctl-verify
