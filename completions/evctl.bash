# bash completion for evctl and all its programs. Everything comes from `PROGRAM --complete`.

_evctl() {
	local line cur i lead cut=
	local -a words plain found
	local cword files= dirs=
	# Words are split anew, so that a name with ':' or '=' in it stays whole.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n := -w words -i cword
	else
		_evctl_words
	fi
	cur=${words[cword]}
	for ((i = 0; i <= cword; i++)); do
		plain[i]=$(_evctl_plain "${words[i]}")
	done
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:file) files=1 ;;
		:dir) dirs=1 ;;
		*)
			line=${line%%$'\t'*}
			[[ $cur == [\"\']* ]] || printf -v line %q "$line"
			COMPREPLY+=("$line")
			;;
		esac
	done < <("${plain[0]}" --complete "${plain[@]:1:cword}" 2>/dev/null)

	lead=
	[[ $cur == --*=* ]] && lead=${cur%%=*}=
	if [[ $files || $dirs ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t found < <(compgen "-${files:+f}${dirs:+d}" -- "${cur#"$lead"}" 2>/dev/null)
		for line in "${found[@]}"; do COMPREPLY+=("$lead$line"); done
	fi
	# Readline replaces only what follows the last of its own word breaks.
	[[ $cur == *=* && $COMP_WORDBREAKS == *=* ]] && cut=${cur%"${cur##*=}"}
	[[ $cur == *:* && $COMP_WORDBREAKS == *:* ]] && cut=${cur%"${cur##*:}"}
	[[ $cur == [\"\']* ]] && cut=
	for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$cut"}; done
	# What ends in '=' goes on.
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}

# A word as the program would get it.
_evctl_plain() {
	local w=$1
	# shellcheck disable=SC2088 # the word as it was typed
	[[ $w == '~/'* ]] && w=$HOME/${w:2}
	case $w in
	\'*) w=${w#\'} && w=${w%\'} ;;
	\"*) w=${w#\"} && w=${w%\"} ;;
	*) w=${w//\\/} ;;
	esac
	printf %s "$w"
}

# The command line up to the cursor as whole words, where bash-completion is not loaded.
_evctl_words() {
	local line=${COMP_LINE:0:COMP_POINT} IFS=$' \t\n'
	read -r -a words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cword=$((${#words[@]} - 1))
}

complete -o nosort -F _evctl evctl evctl-apply evctl-artifact evctl-batch evctl-bind evctl-buyer evctl-conn evctl-cred \
	evctl-doctor evctl-expert evctl-host evctl-log evctl-mcp evctl-node evctl-run evctl-serve evctl-session evctl-state \
	evctl-verify
