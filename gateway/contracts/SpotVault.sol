// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @dev What the vault asks of a token.
interface Token {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @title The vault that deposits go into and withdrawals are paid from.
/// @notice Pays an account what the exchange's signer authorized for it (`spot.md` 10): each authorization once, in the
/// order of its nonce, strictly before its deadline, and to the account itself, which must send the transaction. Takes
/// tokens in under one number after the other (`spot.md` 10.1), by which the exchange credits each once and sees a gap.
/// @dev Knows no balances: what it holds is paid out on signatures alone. Native currency is not taken. Tokens that come
/// without `deposit` are nobody's.
contract SpotVault {
    /// @notice A deposit arrived. `value` is what the vault holds more than before, whatever was sent. The exchange credits on
    /// this event, once it is final.
    event Deposited(uint256 indexed number, address indexed account, address indexed token, uint256 value);
    /// @notice A release was paid. The exchange settles on this event, once it is final.
    event FundsReleased(address indexed account, address indexed token, uint256 value, uint256 nonce);
    /// @notice Releases and deposits stopped or go on.
    event PauseChanged(bool isPaused);
    /// @notice Authorizations of the former signer, paid or not, hold no longer, and never will again.
    event SignerChanged(address indexed former, address indexed signer);
    /// @notice The owner names who may become owner; the zero address takes that back.
    event OwnershipOffered(address indexed owner, address indexed candidate);
    /// @notice The candidate has become owner.
    event OwnershipTransferred(address indexed former, address indexed owner);

    error Paused();
    error DeadlinePassed();
    error SignatureInvalid();
    error TransferFailed();
    error NotOwner();
    error NotCandidate();
    error ZeroAddress();
    error SignerRetired();
    error NothingArrived();
    error Reentered();

    /// @notice Type of the signed message.
    bytes32 public constant RELEASE_TYPE_HASH =
        keccak256("SpotReleaseFunds(address account,address token,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant DOMAIN_TYPE_HASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    /// @dev Half the order of secp256k1: a signature with a larger s has a twin with a smaller one; only that one counts.
    uint256 private constant S_MAX = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    bytes32 private immutable nameHash;

    /// @notice Who may pause, replace the signer and offer ownership; a contract as well, such as a multisig.
    address public owner;
    /// @notice Who may accept ownership; the zero address for nobody.
    address public candidate;
    /// @notice Whose signatures authorize releases.
    address public signer;
    /// @notice Whether releases and deposits are stopped.
    bool public isPaused;
    /// @dev Whether a token is being called: it comes back to nothing that moves tokens.
    bool private isBusy;
    /// @notice Deposits so far, which is the number of the last.
    uint256 public depositCount;
    /// @notice Releases so far, of all accounts.
    uint256 public releaseCount;
    /// @notice The nonce of each account's next release, which is the count of those paid.
    mapping(address account => uint256) public nonces;
    /// @notice Who was signer and is no longer: what they signed was given back, so they never come back.
    mapping(address signer => bool) public isRetired;

    modifier onlyOwner() {
        require(msg.sender == owner, NotOwner());
        _;
    }

    /// @dev While it moves tokens it moves no others: what arrives is told by balances before and after.
    modifier alone() {
        require(!isBusy, Reentered());
        isBusy = true;
        _;
        isBusy = false;
    }

    /// @param name The vault's name in the domain of signed messages.
    /// @param signer_ Whose signatures authorize releases.
    constructor(string memory name, address signer_) {
        require(signer_ != address(0), ZeroAddress());
        owner = msg.sender;
        nameHash = keccak256(bytes(name));
        signer = signer_;
        emit SignerChanged(address(0), signer_);
    }

    /// @notice Pays the caller `amount` of `token`, if the signer authorized just that with the caller's next nonce.
    /// @param deadline First second at which the authorization is dead.
    /// @param signature r, s, v: 65 bytes, v 27 or 28, low s.
    function withdraw(address token, uint256 amount, uint256 deadline, bytes calldata signature) external alone {
        require(!isPaused, Paused());
        require(block.timestamp < deadline, DeadlinePassed());
        uint256 nonce = nonces[msg.sender];
        bytes32 message = keccak256(abi.encode(RELEASE_TYPE_HASH, msg.sender, token, amount, nonce, deadline));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domainSeparator(), message));
        require(recover(digest, signature) == signer, SignatureInvalid());
        // Before the token runs, so that it cannot come back with the same nonce.
        nonces[msg.sender] = nonce + 1;
        releaseCount += 1;
        emit FundsReleased(msg.sender, token, amount, nonce);
        pay(token, msg.sender, amount);
    }

    /// @notice Takes up to `amount` of `token` from the caller, who allowed it, for the caller's own account.
    function deposit(address token, uint256 amount) external {
        depositFor(msg.sender, token, amount);
    }

    /// @notice The same for somebody's account. What counts is what arrives; nothing is no deposit.
    function depositFor(address account, address token, uint256 amount) public alone {
        require(!isPaused, Paused());
        require(account != address(0), ZeroAddress());
        require(token.code.length > 0, TransferFailed());
        uint256 before = Token(token).balanceOf(address(this));
        call(token, abi.encodeCall(Token.transferFrom, (msg.sender, address(this), amount)));
        uint256 held = Token(token).balanceOf(address(this));
        require(held > before, NothingArrived());
        depositCount += 1;
        emit Deposited(depositCount, account, token, held - before);
    }

    /// @notice What an exchange must know of the vault, all as of one block: deposits and releases so far, whose signatures
    /// count, whether it is paused, and the domain of what is signed.
    function state()
        external
        view
        returns (uint256 deposits, uint256 releases, address signer_, bool isPaused_, bytes32 domain)
    {
        return (depositCount, releaseCount, signer, isPaused, domainSeparator());
    }

    /// @notice Stops releases and deposits, or lets them go on.
    function setPaused(bool isPaused_) external onlyOwner {
        isPaused = isPaused_;
        emit PauseChanged(isPaused_);
    }

    /// @notice Replaces the signer, for good: the exchange gives back what the former one signed and nobody released.
    function setSigner(address signer_) external onlyOwner {
        require(signer_ != address(0), ZeroAddress());
        require(signer_ != signer && !isRetired[signer_], SignerRetired());
        isRetired[signer] = true;
        emit SignerChanged(signer, signer_);
        signer = signer_;
    }

    /// @notice Offers ownership, which changes once the candidate accepts: an address that nobody can act for owns nothing.
    function transferOwnership(address candidate_) external onlyOwner {
        candidate = candidate_;
        emit OwnershipOffered(owner, candidate_);
    }

    /// @notice Takes the ownership that was offered.
    function acceptOwnership() external {
        require(msg.sender == candidate, NotCandidate());
        emit OwnershipTransferred(owner, msg.sender);
        owner = msg.sender;
        candidate = address(0);
    }

    /// @notice Hash of the EIP-712 domain. Worked out each time: a fork of the chain is another chain.
    function domainSeparator() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPE_HASH, nameHash, keccak256("1"), block.chainid, address(this)));
    }

    /// @dev Who signed; the zero address, which is never the signer, for what is no signature.
    function recover(bytes32 digest, bytes calldata signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        if (uint256(s) > S_MAX || (v != 27 && v != 28)) return address(0);
        return ecrecover(digest, v, r, s);
    }

    function pay(address token, address account, uint256 amount) private {
        require(token.code.length > 0, TransferFailed());
        call(token, abi.encodeCall(Token.transfer, (account, amount)));
    }

    /// @dev Some tokens answer a transfer with true, some with nothing; anything else is a failure.
    function call(address token, bytes memory data) private {
        (bool isDone, bytes memory answer) = token.call(data);
        require(isDone && (answer.length == 0 || abi.decode(answer, (bool))), TransferFailed());
    }
}
